"""Nothing is hidden: no handler that swallows every error, no assertion that cannot fail."""

import ast
from collections.abc import Iterator, Mapping

import pytest

from tests.house.source import Module, modules, no_faults

# Files that may catch everything, each with its reason.
CATCH_EVERYTHING: Mapping[str, str] = {
    "menura/calls.py": "an unforeseen failure of one request must not stop the others",
    "menura/cli/failures.py": "the command line's border: any error is a line and an exit code",
    "menura/engines/builtin/engine.py": "a library's failure is one segment's, whatever it raises",
    "menura/engines/registry.py": "another package's broken engine must not stop the others",
    "menura/server/models/child.py": "whatever hinders a model from loading is told to the server",
    "menura/server/voices/workshop.py": "a defect met in a client's file is told without its words",
    "menura/server/border/gate.py": "any error is an answer and a line in the log",
    "menura/text/sentences.py": "a Rust panic has no class to name; all else is raised again",
}


def handler_faults(module: Module) -> Iterator[str]:
    """Where every error is caught and not raised again."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and _catches_everything(node) and not _raises(node):
            yield (
                f"{module.at(node.lineno)} swallows every error: name the errors that can come, "
                "or end the handler with `raise`."
            )


def _catches_everything(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"Exception", "BaseException"})


def _raises(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def assertion_faults(module: Module) -> Iterator[str]:
    """Where an assertion states a constant that is true."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and node.test.value:
            yield f"{module.at(node.lineno)} asserts a constant: assert what the code gave."


def test_no_handler_swallows_every_error() -> None:
    faults = {module.path: list(handler_faults(module)) for module in modules()}
    no_faults(
        fault for path, found in faults.items() if path not in CATCH_EVERYTHING for fault in found
    )
    idle = [path for path in CATCH_EVERYTHING if not faults.get(path)]
    no_faults(f"{path} swallows nothing: take it out of CATCH_EVERYTHING." for path in idle)


def test_every_assertion_can_fail() -> None:
    everything = [*modules("menura"), *modules("tests")]
    no_faults(fault for module in everything for fault in assertion_faults(module))


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception:\n    pass",
        "except (ValueError, Exception) as error:\n    log(error)",
        "except BaseException:\n    raise ValueError from None",
        "except:\n    pass",
    ],
)
def test_a_handler_that_swallows_is_found(handler: str) -> None:
    assert len(list(handler_faults(Module("menura.x", f"try:\n    f()\n{handler}")))) == 1


@pytest.mark.parametrize(
    "handler", ["except ValueError:\n    pass", "except BaseException:\n    clean()\n    raise"]
)
def test_a_handler_that_names_its_error_or_raises_is_left_alone(handler: str) -> None:
    assert list(handler_faults(Module("menura.x", f"try:\n    f()\n{handler}"))) == []


@pytest.mark.parametrize(("text", "n_faults"), [("assert True", 1), ("assert 1, 'x'", 1),
                                                ("assert x", 0), ("assert False", 0)])  # fmt: skip
def test_an_assertion_that_cannot_fail_is_found(text: str, n_faults: int) -> None:
    assert len(list(assertion_faults(Module("tests.x", text)))) == n_faults
