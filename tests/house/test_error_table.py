"""`menura/errors.py` is the whole table of errors: each with its own code and a known exit code."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from menura import errors
from menura.errors import MenuraError
from tests.house.source import Module, modules, no_faults

EXIT_CODES = frozenset({1, 2, 3, 4, 5, 6, 7})
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")


@dataclass(frozen=True)
class Row:
    """One error class as the table shows it."""

    name: str
    code: str
    http_status: int
    exit_code: int
    words: str


def rows() -> list[Row]:
    """The rows of `menura/errors.py`, the base class among them."""
    return [
        Row(name, kind.code, kind.http_status, kind.exit_code, kind.__doc__ or "")
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, MenuraError)
    ]


def table_faults(table: Iterable[Row]) -> Iterator[str]:
    """What is wrong with the rows of a table."""
    owner: dict[str, str] = {}
    for row in table:
        if not _CODE.fullmatch(row.code):
            yield f"{row.name}: the code {row.code!r} must be lower case words joined by `_`."
        if owner.setdefault(row.code, row.name) != row.name:
            yield f"{row.name}: the code {row.code!r} is already that of {owner[row.code]}."
        if row.exit_code not in EXIT_CODES:
            yield f"{row.name}: the exit code {row.exit_code} is not one of {sorted(EXIT_CODES)}."
        if not 400 <= row.http_status <= 599:
            yield f"{row.name}: the HTTP status {row.http_status} is not from 400 to 599."
        if not row.words:
            yield f"{row.name}: the docstring must say when it is raised."


def stray_faults(module: Module) -> Iterator[str]:
    """Which errors that a user meets a module other than `errors` defines."""
    table = {row.name for row in rows()}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            if bases & table:
                yield f"{module.at(node.lineno)} {node.name} is an error: it belongs to errors.py."


def test_every_error_has_a_row() -> None:
    assert "MenuraError" in [row.name for row in rows()]
    no_faults(table_faults(rows()))


def test_errors_stand_nowhere_else() -> None:
    others = [module for module in modules() if module.name != "menura.errors"]
    no_faults(fault for module in others for fault in stray_faults(module))


@pytest.mark.parametrize(
    "row",
    [
        Row("ExampleError", "failure", 500, 1, "The code is taken."),
        Row("ExampleError", "Not-a-code", 500, 1, "The code has another shape."),
        Row("ExampleError", "example", 200, 1, "The status is no error's."),
        Row("ExampleError", "example", 500, 0, "The exit code means success."),
        Row("ExampleError", "example", 500, 1, ""),
    ],
)
def test_a_wrong_row_is_found(row: Row) -> None:
    good = Row("MenuraError", "failure", 500, 1, "Something failed.")
    assert list(table_faults([good])) == []
    assert len(list(table_faults([good, row]))) == 1


def test_an_error_class_elsewhere_is_found() -> None:
    text = "class LateError(errors.MenuraError): ...\nclass Inner(Exception): ...\nclass C: ..."
    assert len(list(stray_faults(Module("menura.x", text)))) == 1
