"""A file is named by what it holds and can be read in one go; a function fits on one screen."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import pytest

from tests.house.source import Module, modules, no_faults

# The aim is 300 lines a file and 50 a function; a little more is no nuisance, much more is.
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60
NAMES_THAT_SAY_NOTHING = frozenset({
    "base", "common", "handler", "helper", "helpers", "manager", "misc", "service", "types",
    "util", "utils",
})  # fmt: skip
# Longer files, each with its reason.
LONG_FILES: Mapping[str, str] = {}


def name_faults(module: Module) -> Iterator[str]:
    """Whether a part of the module's name says nothing about what is in it."""
    for part in PurePosixPath(module.path).with_suffix("").parts:
        if part in NAMES_THAT_SAY_NOTHING:
            yield f"{module.path}: {part!r} says nothing: name it by what it holds."


def package_faults(module: Module) -> Iterator[str]:
    """Whether an `__init__.py` below the package holds anything."""
    is_inner = module.path.endswith("/__init__.py") and module.name != "menura"
    if is_inner and module.text:
        yield f"{module.path} must be empty: put the code into a named file and import it there."


def file_size_faults(module: Module) -> Iterator[str]:
    """Whether the file is too long, or is listed as long and is not."""
    n_lines = len(module.text.splitlines())
    if n_lines > MAX_FILE_LINES and module.path not in LONG_FILES:
        yield f"{module.path} has {n_lines} lines, over {MAX_FILE_LINES}: split it by idea."
    if n_lines <= MAX_FILE_LINES and module.path in LONG_FILES:
        yield f"{module.path} has only {n_lines} lines: take it out of LONG_FILES."


def function_size_faults(module: Module) -> Iterator[str]:
    """Which functions are too long, their docstrings not counted."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            n_lines = _lines(node) - _docstring_lines(node)
            if n_lines > MAX_FUNCTION_LINES:
                yield (
                    f"{module.at(node.lineno)} {node.name} has {n_lines} lines, over "
                    f"{MAX_FUNCTION_LINES}: give a part of it a name of its own."
                )


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return _lines(node.body[0]) if ast.get_docstring(node) is not None else 0


def test_names_say_what_a_file_holds() -> None:
    everything = [*modules("menura"), *modules("tests"), *modules("bench")]
    no_faults(fault for module in everything for fault in name_faults(module))


def test_packages_have_empty_init_files() -> None:
    no_faults(fault for module in modules() for fault in package_faults(module))


def test_files_are_not_too_long() -> None:
    no_faults(fault for module in modules() for fault in file_size_faults(module))
    gone = LONG_FILES.keys() - {module.path for module in modules()}
    no_faults(f"LONG_FILES names {path}, which is gone: take it out." for path in gone)


def test_functions_are_not_too_long() -> None:
    no_faults(fault for module in modules() for fault in function_size_faults(module))


@pytest.mark.parametrize("path", ["menura/utils.py", "menura/helpers/text.py", "tests/types.py"])
def test_a_name_that_says_nothing_is_found(path: str) -> None:
    assert len(list(name_faults(Module("menura.x", "", path)))) == 1


def test_a_name_that_only_contains_such_a_word_is_left_alone() -> None:
    assert list(name_faults(Module("menura.x", "", "menura/database.py"))) == []


def test_a_filled_init_file_is_found() -> None:
    assert len(list(package_faults(Module("menura.cli", "X = 1\n", "menura/cli/__init__.py")))) == 1
    assert list(package_faults(Module("menura", "X = 1\n", "menura/__init__.py"))) == []


def test_one_line_too_many_in_a_file_is_found() -> None:
    assert list(file_size_faults(Module("menura.x", "\n" * MAX_FILE_LINES))) == []
    assert len(list(file_size_faults(Module("menura.x", "\n" * (MAX_FILE_LINES + 1))))) == 1


def test_one_line_too_many_in_a_function_is_found() -> None:
    body = '    """Two\n    lines."""\n' + "    x = 1\n" * (MAX_FUNCTION_LINES - 1)
    assert list(function_size_faults(Module("menura.x", f"def f():\n{body}"))) == []
    too_long = Module("menura.x", f"class C:\n  async def f():\n{body}    x = 1\n")
    assert len(list(function_size_faults(too_long))) == 1
