"""Finding a compiler and building with it; the compiler here is a script."""

from pathlib import Path

import pytest

from menura.runtime.native import compiler
from menura.runtime.native.compiler import Body, BuildError, Compiler, Recipe, build, find_compiler

OBEDIENT = """#!/bin/sh
case "$*" in *--version) echo "script 1.2"; exit 0;; esac
echo "$@" >> "$0.log"
for last; do :; done
echo made > "$last"
"""
REFUSING = """#!/bin/sh
case "$*" in *--version) echo "script 1.2"; exit 0;; esac
echo "lm_body.cpp: note: reading" >&2
echo "lm_body.cpp:7: error: no such instruction" >&2
exit 1
"""


def script(folder: Path, text: str, name: str = "c++") -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_cxx_is_asked_first_with_its_arguments(tmp_path: Path) -> None:
    mine = script(tmp_path, OBEDIENT, "mine")
    script(tmp_path, OBEDIENT)
    found = find_compiler({"CXX": f"{mine} -m64", "PATH": str(tmp_path)})
    assert found == Compiler((str(mine), "-m64"), "script 1.2")


def test_without_cxx_the_first_known_name_is_taken(tmp_path: Path) -> None:
    second, third = script(tmp_path, OBEDIENT, "g++"), script(tmp_path, OBEDIENT, "clang++")
    assert find_compiler({"PATH": str(tmp_path)}).command == (str(second),)
    second.unlink()
    assert find_compiler({"PATH": str(tmp_path)}).command == (str(third),)


@pytest.mark.parametrize("environment", [{}, {"CXX": "no-such-compiler"}])
def test_no_compiler_is_one_clear_reason(tmp_path: Path, environment: dict[str, str]) -> None:
    wanted = environment.get("CXX", "c++, g++, clang")
    with pytest.raises(BuildError, match=f"no C\\+\\+ compiler is here .*{wanted[:3]}") as caught:
        find_compiler({**environment, "PATH": str(tmp_path)})
    assert "\n" not in str(caught.value)


def test_a_compiler_that_does_not_run_is_one_clear_reason(tmp_path: Path) -> None:
    script(tmp_path, "#!/bin/sh\nexit 3\n")
    with pytest.raises(BuildError, match="--version failed"):
        find_compiler({"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("machine", "bodies"), [("x86_64", ["avx512", "avx2"]), ("AMD64", ["avx512", "avx2"]),
                            ("arm64", ["neon"]), ("aarch64", ["neon"])]
)  # fmt: skip
def test_a_machine_has_its_bodies(
    machine: str, bodies: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert [body.name for body in compiler.default_recipe(machine).bodies] == bodies


@pytest.mark.parametrize(("platform", "machine"), [("linux", "riscv64"), ("win32", "amd64")])
def test_other_machines_have_none(
    platform: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    with pytest.raises(BuildError, match=machine):
        compiler.default_recipe(machine)


def test_body_sources_are_compiled_for_each_body_and_the_others_once(tmp_path: Path) -> None:
    made = script(tmp_path, OBEDIENT)
    recipe = Recipe((Body("one", ("-m1",)), Body("two", ("-m2",))), ("-extra",))
    build(find_compiler({"CXX": str(made)}), recipe, tmp_path / "library")
    assert (tmp_path / "library").read_text() == "made\n"
    calls = (tmp_path / "c++.log").read_text().splitlines()
    assert all("-extra" in call for call in calls)
    bodies = [call for call in calls if "lm_body.cpp" in call]
    assert len(bodies) == 2
    assert any("-m1" in call and "-DMENURA_BODY=one -DMENURA_BODY_ONE" in call for call in bodies)
    [plain] = [call for call in calls if "/lm_api.cpp" in call]
    assert "-DMENURA_HAS_ONE -DMENURA_HAS_TWO" in plain
    assert "-shared" in calls[-1]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_the_first_error_is_the_reason(tmp_path: Path) -> None:
    refusing = find_compiler({"CXX": str(script(tmp_path, REFUSING))})
    with pytest.raises(BuildError) as caught:
        build(refusing, Recipe((Body("one", ()),)), tmp_path / "library")
    assert str(caught.value) == (
        "c++ could not build the native kernels: lm_body.cpp:7: error: no such instruction"
    )
    assert not (tmp_path / "library").exists()


def test_the_hash_changes_with_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "SOURCES", tmp_path)
    (tmp_path / "a.h").write_text("1")
    before = compiler.source_hash()
    assert compiler.source_hash() == before
    (tmp_path / "a.h").write_text("2")
    assert compiler.source_hash() != before
