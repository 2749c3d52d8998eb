"""Runs the native language model under the sanitizers and valgrind: `make native-sanitize`.

Every body that runs here is watched by ASan and UBSan, and by TSan; the AVX2 body also by valgrind,
which does not know the widest instructions. With a cross compiler in MENURA_CROSS_CXX and an
emulator in MENURA_EMULATOR (such as qemu-aarch64), the NEON body is built, and run in it.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from menura.runtime.native.compiler import BODIES, Recipe, build, default_recipe, find_compiler

MAIN = Path(__file__).parent / "lm_exercise.cpp"
_ARM = "aarch64"


@dataclass(frozen=True)
class Watch:
    """One way to be watched: how the program is built, and what it runs in."""

    name: str
    recipe: Recipe
    command: tuple[str, ...]
    bodies: tuple[str, ...]
    compiler: Mapping[str, str]


def watches(environment: Mapping[str, str]) -> list[Watch]:
    """All that this machine has the tools for."""
    bodies = default_recipe().bodies
    names = tuple(body.name for body in bodies)
    here = [
        Watch(name, Recipe(bodies, flags, main=MAIN), (), names, environment)
        for name, flags in (
            ("ASan and UBSan", ("-g", "-O1", "-fsanitize=address,undefined",
                                "-fno-sanitize-recover=all")),
            ("TSan", ("-g", "-O1", "-fsanitize=thread")),
        )
    ]  # fmt: skip
    valgrind = ("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--fair-sched=yes")
    if "avx2" in names:
        recipe = Recipe(bodies, ("-g",), main=MAIN)
        here.append(Watch("valgrind", recipe, valgrind, ("avx2",), environment))
    cross, emulator = environment.get("MENURA_CROSS_CXX"), environment.get("MENURA_EMULATOR")
    if cross and emulator:
        recipe = Recipe(BODIES[_ARM], (), ("-static",), MAIN)
        command = tuple(shlex.split(emulator))
        here.append(Watch("the emulator", recipe, command, ("neon",), {"CXX": cross, **_path()}))
    return here


def _path() -> Mapping[str, str]:
    return {"PATH": os.environ.get("PATH", "")}


def run(watch: Watch, folder: Path) -> Sequence[str]:
    """One line for each body: what came out."""
    program = folder / "exercise"
    build(find_compiler(watch.compiler), watch.recipe, program)
    program.chmod(0o700)
    lines = []
    for body in watch.bodies:
        environment = {**os.environ, "MENURA_NATIVE_BODY": body}
        done = subprocess.run(
            [*watch.command, str(program), "1"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout.strip() or done.stderr.strip()
        lines.append(f"{watch.name}: {body}: {done.returncode} {said}")
    return lines


def main() -> int:
    """The number of bodies that did not pass."""
    n_failed = 0
    for watch in watches(os.environ):
        with tempfile.TemporaryDirectory() as folder:
            for line in run(watch, Path(folder)):
                sys.stdout.write(line + "\n")
                n_failed += not line.endswith("good") and "does not run here" not in line
    return n_failed


if __name__ == "__main__":
    sys.exit(main())
