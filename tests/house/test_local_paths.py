"""No file of the project names a path that only one machine has."""

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.house.source import ROOT, no_faults

# A part of a longer path or of a URL is left alone. The slash and the names stand apart, so that
# this file does not match itself.
_PATH = re.compile(r"(?<![\w.~)}-])/" + r"(?:(?:work|tmp|root)/|home/[a-z])")


def path_faults(path: str, text: str) -> Iterator[str]:
    """Where a text names a path of one machine."""
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _PATH.search(line):
            yield (
                f"{path}:{number} names {found[0]!r}: use a path from the project's root, "
                "tmp_path in a test, or a placeholder."
            )


def _text_files() -> Iterator[tuple[str, str]]:
    """The text files that are tracked or about to be."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True)
    for name in done.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            content = (ROOT / name).read_bytes()
            if b"\0" not in content:
                yield name, content.decode("utf-8", "replace")


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None, reason="not a git checkout"
)
def test_no_file_names_a_path_of_this_machine() -> None:
    files = list(_text_files())
    assert "pyproject.toml" in dict(files)
    no_faults(fault for path, text in files for fault in path_faults(path, text))


@pytest.mark.parametrize("folder", ["work", "tmp", "root", "home/me"])
@pytest.mark.parametrize("before", ["", '"', "see ", "file://", "(", "="])
def test_a_path_of_one_machine_is_found(folder: str, before: str) -> None:
    assert len(list(path_faults("a.py", f"first\n{before}/{folder}/x"))) == 1


@pytest.mark.parametrize(
    "text", ["https://example.com/{}/x", "./{}/x", "~/{}/x", "a/{}/x", "/{}", "/{}x/", "$(pwd)/{}/"]
)
def test_other_paths_are_left_alone(text: str) -> None:
    assert list(path_faults("a.py", text.format("tmp"))) == []
