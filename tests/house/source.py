"""The project's source as the house rules read it: names, texts, syntax trees and imports.

A rule is a function from a `Module` to the sentences that say what is wrong and what to do. So a
tiny module made from a text shows that the rule can fail, and the package shows that it holds.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Module:
    """One file of Python: its dotted name, its path from the root, and its text."""

    name: str
    text: str
    path: str = "example.py"

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, self.path)

    def at(self, line: int) -> str:
        """The place, as an editor opens it."""
        return f"{self.path}:{line}"


@cache
def modules(folder: str = "menura") -> tuple[Module, ...]:
    """Every Python file below a folder of the project, in the order of their paths."""
    return tuple(_read(path) for path in sorted((ROOT / folder).rglob("*.py")))


def _read(path: Path) -> Module:
    inside = path.relative_to(ROOT)
    parts = inside.parent.parts if inside.stem == "__init__" else inside.with_suffix("").parts
    return Module(".".join(parts), path.read_text("utf-8"), inside.as_posix())


def no_faults(faults: Iterable[str]) -> None:
    """Nothing, or the test's failure with one fault a line."""
    found = sorted(faults)
    if found:
        pytest.fail("\n".join([f"{len(found)} found:", *found]), pytrace=False)


def within(name: str, prefixes: Iterable[str]) -> bool:
    """Whether a dotted name is one of these, or lies below one of them."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


@dataclass(frozen=True)
class Import:
    """One imported name in full, such as `menura.speech.Speech`; lazy means inside a function."""

    name: str
    line: int
    lazy: bool

    @property
    def package(self) -> str:
        """The outermost package, such as `numpy`."""
        return self.name.partition(".")[0]


def imports_of(module: Module) -> Iterator[Import]:
    """What a module imports when it runs; imports for the type checker alone are left out."""
    yield from _imports(module.tree, lazy=False)
    nodes = list(ast.walk(module.tree))
    aliases = [alias for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    package = {alias.asname or alias.name for alias in aliases if alias.name == "menura"}
    for node in nodes:  # what `import menura` brings, only its uses say
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in package:
            yield Import(f"menura.{node.attr}", node.lineno, lazy=False)


def _imports(node: ast.AST, *, lazy: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, node.lineno, lazy) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (Import(f"{node.module}.{a.name}", node.lineno, lazy) for a in node.names)
    elif isinstance(node, ast.If) and _is_type_checking(node.test):
        for other in node.orelse:
            yield from _imports(other, lazy=lazy)
    else:
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, lazy=inside)


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
