"""From the C++ sources in this folder to one shared library, with the system's compiler.

Files that do arithmetic are compiled once for each body: AVX-512 and AVX2 on x86, NEON on ARM. All
bodies go into the one library, which picks at run time what the CPU can do. So a library that was
built on one machine runs on every other of its kind.

Imports nothing but the standard library: the build of a wheel uses it too.
"""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
BODY_SOURCES = ("lm_body.cpp", "codec_body.cpp")
PLAIN_SOURCES = (
    "bodies.cpp", "codec.cpp", "codec_check.cpp", "frame.cpp", "lm.cpp", "lm_api.cpp",
    "packing.cpp", "pool.cpp", "sampling.cpp", "stack.cpp",
)  # fmt: skip
FLAGS = (
    "-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
    "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra",
)  # fmt: skip
# Flags that one source needs beside those of all.
SOURCE_FLAGS: Mapping[str, tuple[str, ...]] = {"codec_body.cpp": ("-ffp-contract=fast",)}
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
WHEEL_FOLDER = SOURCES / "built"
_TIMEOUT_S = 600
_COMPILERS = ("c++", "g++", "clang++")


@dataclass(frozen=True)
class Body:
    """One set of instructions that the kernels are compiled for."""

    name: str
    flags: tuple[str, ...]


_X86 = (
    Body(
        "avx512",
        ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx512vnni", "-mavx512bf16",
         "-mavx2", "-mfma"),
    ),
    Body("avx2", ("-mavx2", "-mfma")),
)  # fmt: skip
_ARM = (Body("neon", ("-march=armv8.2-a+dotprod",)),)
BODIES: Mapping[str, tuple[Body, ...]] = {
    "x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM,
}  # fmt: skip


class BuildError(Exception):
    """The library cannot be built; the message says why, in one line."""


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: how it is called, and the first line of what it says of its version."""

    command: tuple[str, ...]
    version: str

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return Path(self.command[0]).name


@dataclass(frozen=True)
class Recipe:
    """Which bodies are compiled, and with what flags beside `FLAGS`.

    With `main`, a source with a main function, the result is a program instead of a library.
    """

    bodies: tuple[Body, ...]
    extra_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    main: Path | None = None


def find_compiler(environment: Mapping[str, str] = os.environ) -> Compiler:
    """The compiler that `CXX` names, else the first of c++, g++ and clang++.

    Raises: BuildError: there is none, or it does not run.
    """
    given = shlex.split(environment.get("CXX", ""))
    for command in [given] if given else [[name] for name in _COMPILERS]:
        found = shutil.which(command[0], path=environment.get("PATH"))
        if found:
            return Compiler((found, *command[1:]), _version((found, *command[1:])))
    wanted = f"CXX={given[0]}" if given else ", ".join(_COMPILERS)
    raise BuildError(f"no C++ compiler is here (looked for {wanted})")


def default_recipe(machine: str = platform.machine()) -> Recipe:
    """All bodies of this kind of machine. Raises: BuildError: there are none for it."""
    bodies = BODIES.get(machine.lower())
    if bodies is None or sys.platform == "win32":
        system = f"{sys.platform} on {machine}"
        raise BuildError(f"the native kernels run on Linux and macOS on x86-64 or ARM64: {system}")
    return Recipe(bodies)


def source_hash() -> str:
    """A hash (hex) of every source and of the flags: the library's version."""
    digest = hashlib.sha256(repr((FLAGS, SOURCE_FLAGS, BODIES)).encode())
    for path in sorted([*SOURCES.glob("*.cpp"), *SOURCES.glob("*.h")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def named_by_content(path: Path, key: str) -> Path:
    """The path beside a library under which it is kept: its SHA-256 is in the name."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path.with_name(f"{key}-{digest}{SUFFIX}")


def build(compiler: Compiler, recipe: Recipe, target: Path) -> None:
    """Write the library (or program) to `target`, whose folder must be there.

    Raises: BuildError: the compiler refuses; the first of its errors is in the message.
    """
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as folder:
        steps = list(_compile_steps(recipe, Path(folder)))
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as workers:
            for _ in workers.map(lambda step: _run(compiler, step), steps):
                pass
        objects = [step[-1] for step in steps]
        made = Path(folder) / target.name
        kind = [] if recipe.main else ["-shared"]
        link = [*kind, "-pthread", *recipe.extra_flags, *recipe.link_flags, *objects]
        _run(compiler, [*link, "-o", str(made)])
        made.replace(target)


def _compile_steps(recipe: Recipe, folder: Path) -> Iterable[Sequence[str]]:
    """The compiler's arguments for every object file; the last one is the object's path."""
    has = [f"-DMENURA_HAS_{body.name.upper()}" for body in recipe.bodies]
    for source in BODY_SOURCES:
        for body in recipe.bodies:
            names = [f"-DMENURA_BODY={body.name}", f"-DMENURA_BODY_{body.name.upper()}"]
            yield from _compile_step(source, [*body.flags, *names], recipe, folder / body.name)
    for source in PLAIN_SOURCES:
        yield from _compile_step(source, has, recipe, folder / "plain")
    if recipe.main is not None:
        yield from _compile_step(str(recipe.main), ["-I", str(SOURCES)], recipe, folder / "main")


def _compile_step(
    source: str, flags: Sequence[str], recipe: Recipe, place: Path
) -> Iterable[Sequence[str]]:
    path = SOURCES / source  # a path from the root stays what it is
    if path.exists():
        own = SOURCE_FLAGS.get(path.name, ())
        made = place.with_name(f"{place.name}-{path.stem}.o")
        yield [*FLAGS, *own, *flags, *recipe.extra_flags, "-c", str(path), "-o", str(made)]


def _run(compiler: Compiler, arguments: Sequence[str]) -> None:
    command = [*compiler.command, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{compiler.name} did not run: {error}") from error
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").splitlines()
        errors = [line for line in words if "error" in line] or words or ["it said nothing"]
        raise BuildError(f"{compiler.name} could not build the native kernels: {errors[0].strip()}")


def _version(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{command[0]} did not run: {error}") from error
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    if done.returncode != 0 or not lines:
        raise BuildError(f"{command[0]} --version failed, so it cannot compile")
    return lines[0]
