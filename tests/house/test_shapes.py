"""A public function that takes or gives an array names its shape in brackets, such as [n]."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.source import Module, modules, no_faults

_ARRAY = re.compile(r"\b(\w*Array|ArrayLike|Frames|ndarray|Tensor)\b")
_SHAPE = re.compile(r"\[\w[\w, *+/-]*\]")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def shape_faults(module: Module) -> Iterator[str]:
    """Which public functions, methods and properties leave a shape out."""
    for function in _public_functions(module.tree):
        words = ast.get_docstring(function) or ""
        if _handles_arrays(function) and not _SHAPE.search(words):
            yield (
                f"{module.at(function.lineno)} {function.name} takes or gives an array: say its "
                "shape in the docstring, such as [n] or [T, Q]."
            )


def _public_functions(node: ast.Module | ast.ClassDef) -> Iterator[Function]:
    for child in node.body:
        if isinstance(child, Function) and not child.name.startswith("_"):
            yield child
        elif isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from _public_functions(child)


def _handles_arrays(function: Function) -> bool:
    arguments = [node.annotation for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    annotations = [node for node in (*arguments, function.returns) if node is not None]
    return any(_ARRAY.search(ast.unparse(annotation)) for annotation in annotations)


def test_public_functions_name_the_shapes_of_their_arrays() -> None:
    no_faults(fault for module in modules() for fault in shape_faults(module))


@pytest.mark.parametrize(
    "text",
    [
        'def f(samples: FloatArray) -> int:\n    """The count."""',
        'def f() -> "list[Tensor]":\n    """The parts."""',
        'def f(*rows: NDArray[np.int64]) -> None:\n    """Nothing."""',
        'class C:\n    @property\n    def codes(self) -> Frames | None:\n        """The codes."""',
        "async def f(*, x: torch.Tensor) -> None: ...",
    ],
)
def test_a_missing_shape_is_found(text: str) -> None:
    assert len(list(shape_faults(Module("menura.x", text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        'def f(samples: FloatArray) -> int:\n    """The count of samples [n]."""',
        'def f(x: Tensor) -> Tensor:\n    """The hidden state [B, T, D]."""',
        "def _f(samples: FloatArray) -> int: ...",
        "class _C:\n    def f(self, samples: FloatArray) -> int: ...",
        'def f(names: list[str]) -> int:\n    """The count."""',
    ],
)
def test_a_named_shape_and_a_private_function_are_left_alone(text: str) -> None:
    assert list(shape_faults(Module("menura.x", text))) == []
