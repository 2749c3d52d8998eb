"""Commands in the documentation work: each says whether it is run here, and those that are, run.

A block of bash, console or python carries its tag in the line before it, as `<!-- run -->` or
`<!-- not run: reason -->`, or after its language, as `run` or `not run: reason`. In a console
block that is run, the lines that begin with `$ ` (or `> `, where a command goes on) are the
commands and the others are shown only.
"""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.house.source import ROOT, no_faults

_COMMANDS = ("bash", "console", "python", "sh", "shell")
_OPENING = re.compile(r"\s*(?P<fence>`{3,}|~{3,})\s*(?P<language>\w*)(?P<info>[^`]*)")
_TAG = re.compile(r"run|not run: \S.*")


@dataclass(frozen=True)
class Block:
    """One fenced block of commands: where it is, its language, its tag (empty: none), its text."""

    place: str
    language: str
    tag: str
    text: str

    @property
    def is_run(self) -> bool:
        """Whether the block asks to be run."""
        return self.tag == "run"

    def command(self) -> list[str]:
        """The program and arguments that run the block."""
        if self.language == "python":
            return [sys.executable, "-c", self.text]
        return ["bash", "-c", "\n".join(["set -e", *self.lines()])]

    def lines(self) -> list[str]:
        """The lines to run, without prompts and what is shown only."""
        lines = self.text.splitlines()
        if self.language != "console":
            return lines
        return [line[2:] for line in lines if line.startswith(("$ ", "> "))]


def blocks_of(text: str, path: str) -> Iterator[Block]:
    """The blocks of commands of a Markdown text."""
    above = ""  # the last line before the block that is not blank
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        opening = _OPENING.fullmatch(line)
        if opening is None:
            above = line if line.strip() else above
            continue
        body = textwrap.dedent("\n".join(_until(opening["fence"], lines)))
        language = opening["language"].lower()
        if language in _COMMANDS:
            yield Block(f"{path}:{number}", language, _tag(opening["info"]) or _tag(above), body)
        above = ""


def _until(fence: str, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    """The lines of a block; the one that closes it is used up."""
    for _, line in lines:
        if line.strip() == fence:
            return
        yield line


def _tag(text: str) -> str:
    """The tag that a line holds, or an empty string."""
    inner = text.strip().removeprefix("<!--").removesuffix("-->").strip()
    return inner if _TAG.fullmatch(inner) else ""


def tag_faults(block: Block) -> Iterator[str]:
    """Whether a block says if it is run, and has something to run."""
    if not block.tag:
        yield (
            f"{block.place} does not say whether it is run: put `<!-- run -->` or "
            "`<!-- not run: reason -->` into the line before it."
        )
    if block.is_run and not any(line.strip() for line in block.lines()):
        yield f"{block.place} runs nothing: begin the commands of a console block with `$ `."


def _documents() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def _all_blocks() -> list[Block]:
    present = [path for path in _documents() if path.is_file()]
    return [
        block
        for path in present
        for block in blocks_of(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())
    ]


def test_the_documents_are_there() -> None:
    no_faults(f"{path.name} is missing." for path in _documents() if not path.is_file())


def test_every_block_says_whether_it_is_run() -> None:
    no_faults(fault for block in _all_blocks() for fault in tag_faults(block))


def test_the_readme_has_commands_that_are_run() -> None:
    assert [b for b in _all_blocks() if b.is_run and b.place.startswith("README.md")] != []


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=block.place) for block in _all_blocks() if block.is_run]
)
def test_a_block_that_is_run_succeeds(block: Block, tmp_path: Path) -> None:
    done = _run(block, tmp_path)
    assert done.returncode == 0, f"{block.place}\n{done.stdout}\n{done.stderr}"


def _run(block: Block, folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "MENURA_HOME": str(folder),
        "MENURA_SERVER": "off",
    }
    return subprocess.run(
        block.command(),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("<!-- run -->\n```bash\ntrue\n```", "run"),
        ("<!-- run -->\n\n```bash\ntrue\n```", "run"),
        ("<!-- not run: needs a GPU -->\n```console\n$ true\n```", "not run: needs a GPU"),
        ("```python run\npass\n```", "run"),
        ("```bash not run: sets the machine up\ntrue\n```", "not run: sets the machine up"),
        ("1. First\n   <!-- run -->\n   ```bash\n   true\n   ```", "run"),
        ("```bash\ntrue\n```", ""),
        ("<!-- not run: -->\n```bash\ntrue\n```", ""),
        ("<!-- run -->\nSome words\n```bash\ntrue\n```", ""),
    ],
)
def test_tags_are_read(text: str, tag: str) -> None:
    [block] = blocks_of(text, "README.md")
    assert block.tag == tag
    assert len(list(tag_faults(block))) == (0 if tag else 1)


def test_a_console_block_without_a_command_is_found() -> None:
    [block] = blocks_of("<!-- run -->\n```console\nmenura version\n```", "README.md")
    [fault] = tag_faults(block)
    assert "runs nothing" in fault


def test_other_blocks_need_no_tag() -> None:
    text = (
        "```toml\nx = 1\n```\n```bash\n\ntrue\n```\n\n```\n```\nUse ```bash``` here.\n~~~sh\nfalse"
    )
    assert list(blocks_of(text, "a.md")) == [
        Block("a.md:4", "bash", "", "\ntrue"),
        Block("a.md:12", "sh", "", "false"),
    ]


def test_a_tag_belongs_to_one_block() -> None:
    text = "<!-- run -->\n```bash\ntrue\n```\n```bash\ntrue\n```"
    assert [block.tag for block in blocks_of(text, "a.md")] == ["run", ""]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bash", 'test "$MENURA_SERVER" = off\ntest "$MENURA_HOME" = "$PWD"\ntouch made'),
        ("console", "$ touch \\\n> made\nshown"),
        ("python", "open('made', 'w').close()"),
    ],
)
def test_a_block_runs_in_a_folder_of_its_own(language: str, text: str, tmp_path: Path) -> None:
    assert _run(Block("a.md:1", language, "run", text), tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize(
    ("language", "text"),
    [("bash", "false\ntrue"), ("console", "$ false\n$ true"), ("python", "raise SystemExit(3)")],
)
def test_a_command_that_fails_is_found(language: str, text: str, tmp_path: Path) -> None:
    assert _run(Block("a.md:1", language, "run", text), tmp_path).returncode != 0
