"""Where the library comes from, and which files are not loaded; the compiler here is a script."""

import os
from pathlib import Path

import pytest

from menura.errors import UnsupportedError
from menura.runtime.native import build
from menura.runtime.native.compiler import BuildError, named_by_content, source_hash
from menura.settings import folders

OBEDIENT = """#!/bin/sh
case "$*" in *--version) echo "script 1.2"; exit 0;; esac
echo "$@" >> "$0.log"
for last; do :; done
echo made > "$last"
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no native kernels")


@pytest.fixture(autouse=True)
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that writes a file at once, and no library in the wheel."""
    path = tmp_path / "c++"
    path.write_text(OBEDIENT)
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    monkeypatch.setattr(build, "wheel_library", lambda: None)
    return path


def n_builds(compiler: Path) -> int:
    """How often something was linked."""
    log = compiler.with_name("c++.log")
    return log.read_text().count("-shared") if log.exists() else 0


def test_the_library_is_built_once_into_a_folder_of_the_users_own(compiler: Path) -> None:
    path = build.find_or_build()
    assert path.parent == folders().cache / "native"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert build.find_or_build() == path
    assert n_builds(compiler) == 1
    assert list(path.parent.iterdir()) == [path]


def test_another_compiler_builds_its_own(compiler: Path) -> None:
    first = build.find_or_build()
    compiler.write_text(OBEDIENT.replace("1.2", "1.3"))
    assert build.find_or_build() != first
    assert n_builds(compiler) == 2


def test_a_library_whose_bytes_changed_is_built_again(compiler: Path) -> None:
    path = build.find_or_build()
    path.write_text("something else\n")
    assert build.find_or_build() == path
    assert path.read_text() == "made\n"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_library_that_others_may_write_is_built_again(compiler: Path, mode: int) -> None:
    path = build.find_or_build()
    path.chmod(mode)
    assert build.find_or_build() == path
    assert path.stat().st_mode & 0o777 == 0o600
    assert n_builds(compiler) == 2


def test_a_library_of_another_owner_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    path = build.find_or_build()
    assert build.is_trusted(path)
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert not build.is_trusted(path)


def test_a_link_is_not_trusted(tmp_path: Path) -> None:
    path = build.find_or_build()
    kept = path.rename(tmp_path / path.name)
    path.symlink_to(kept)
    assert not build.is_trusted(path)


def test_a_folder_that_others_may_enter_is_refused() -> None:
    path = build.find_or_build()
    path.parent.chmod(0o750)
    with pytest.raises(BuildError, match="chmod 700"):
        build.find_or_build()


def test_without_a_compiler_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler" in build.why_not()
    with pytest.raises(UnsupportedError, match="no-such-compiler"):
        build.library.__wrapped__()


def test_a_library_that_does_not_load_is_a_reason() -> None:
    with pytest.raises(UnsupportedError, match="does not load"):
        build.library.__wrapped__()


def test_a_library_in_the_wheel_must_be_of_these_sources_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    folder = tmp_path / "built"
    folder.mkdir()
    assert build.wheel_library(folder) is None
    made = folder / "made.so"
    made.write_text("bytes")
    stale = named_by_content(made, "0" * 16)
    stale.write_text("bytes")
    assert build.wheel_library(folder) is None
    current = made.rename(named_by_content(made, source_hash()[:16]))
    assert build.wheel_library(folder) == current
    current.write_text("other bytes")
    assert build.wheel_library(folder) is None
