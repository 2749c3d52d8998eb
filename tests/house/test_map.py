"""Every row of `docs/MAP.md` leads to a function, class, method or constant that is there."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.source import ROOT, no_faults


@dataclass(frozen=True)
class Row:
    """One row: a question, the file that answers it, and the name in that file."""

    question: str
    path: str
    name: str


def rows_of(text: str) -> list[Row]:
    """The rows of the tables in a Markdown text, without their heads."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    cells = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]
    return [Row(*row) for row in cells if row[0] != "question" and set(row[0]) - set("-: ")]


def defines_in_script(text: str, name: str) -> bool:
    """Whether a JavaScript module defines a name at its top."""
    kinds = r"(?:(?:async )?function\*?|class|const|let)"
    return bool(re.search(rf"^(?:export )?{kinds} {re.escape(name)}\b", text, re.MULTILINE))


def defines(text: str, name: str) -> bool:
    """Whether a Python text defines a dotted name, such as `Jobs.settle`."""
    body = ast.parse(text).body
    *owners, last = name.split(".")
    for owner in owners:
        body = [
            child
            for node in body
            if isinstance(node, ast.ClassDef) and node.name == owner
            for child in node.body
        ]
    return any(last in _names(node) for node in body)


def _names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _reader(path: Path) -> Callable[[str, str], bool]:
    return defines_in_script if path.suffix == ".js" else defines


def row_faults(row: Row) -> Iterator[str]:
    """What is wrong with a row."""
    path = ROOT / row.path
    if not path.is_file():
        yield f"{row.question!r}: {row.path} is not there: name the file that answers it now."
    elif not _reader(path)(path.read_text("utf-8"), row.name):
        yield f"{row.question!r}: {row.path} does not define {row.name}: name what does."


def test_every_row_leads_somewhere() -> None:
    rows = rows_of((ROOT / "docs" / "MAP.md").read_text("utf-8"))
    assert len(rows) >= 30
    no_faults(fault for row in rows for fault in row_faults(row))


def test_no_question_is_asked_twice() -> None:
    questions = [row.question for row in rows_of((ROOT / "docs" / "MAP.md").read_text("utf-8"))]
    assert sorted(questions) == sorted(set(questions))


def test_a_table_is_read() -> None:
    text = "Words\n\n| question | file | function |\n|---|:-:|---|\n| Where? | `a.py` | `C.f` |\n"
    assert rows_of(text) == [Row("Where?", "a.py", "C.f")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("f", True), ("C", True), ("C.g", True), ("C.N", True), ("M", True),
     ("g", False), ("C.f", False), ("f.g", False), ("x", False)],
)  # fmt: skip
def test_names_are_resolved(name: str, expected: bool) -> None:
    text = "M = 1\ndef f():\n    x = 1\nclass C:\n    N: int = 1\n    def g(self): ..."
    assert defines(text, name) is expected


@pytest.mark.parametrize(
    "row", [Row("?", "menura/gone.py", "f"), Row("?", "menura/errors.py", "gone")]
)
def test_a_row_that_leads_nowhere_is_found(row: Row) -> None:
    assert len(list(row_faults(row))) == 1


@pytest.mark.parametrize(
    ("name", "expected"), [("f", True), ("g", True), ("C", True), ("k", True), ("x", False)]
)
def test_a_script_defines_its_functions_classes_and_constants(name: str, expected: bool) -> None:
    text = (
        "export async function f() {\n  let x = 1;\n}\nfunction* g() {}\nclass C {}\nconst k = 1;\n"
    )
    assert defines_in_script(text, name) is expected
