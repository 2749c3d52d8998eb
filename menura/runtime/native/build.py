"""The native library, loaded: from the wheel, from the user's cache, or compiled on first use.

A cached library is code that runs with the user's rights. So it lies in a folder that only the
user may enter, and it is loaded only if it is the user's own, nobody else may write to it, and
its bytes still have the SHA-256 that its name was given when it was compiled.
"""

import ctypes
import functools
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from menura.errors import UnsupportedError
from menura.runtime import devices
from menura.runtime.native.compiler import (
    SUFFIX,
    WHEEL_FOLDER,
    BuildError,
    Compiler,
    build,
    default_recipe,
    find_compiler,
    named_by_content,
    source_hash,
)
from menura.settings import folders

_NEEDED_FEATURES = {"x86_64": {"avx2", "fma"}, "aarch64": {"asimddp"}}


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded library, compiled first where there is none yet (a few seconds, once).

    Raises: UnsupportedError: it cannot be had here, or this CPU runs nothing of it; says why.
    """
    try:
        loaded = ctypes.CDLL(str(find_or_build()))
    except OSError as error:
        raise UnsupportedError(f"the native library does not load: {error}") from error
    except BuildError as error:
        raise UnsupportedError(f"native kernels are not here: {error}") from error
    loaded.menura_body.restype = ctypes.c_char_p
    loaded.menura_bodies.restype = ctypes.c_char_p
    if not loaded.menura_body():
        here = loaded.menura_bodies().decode()
        raise UnsupportedError(
            f"this CPU cannot run the native kernels (for {here.strip()}; MENURA_NATIVE_BODY is "
            f"{os.environ.get('MENURA_NATIVE_BODY', 'not set')})"
        )
    return loaded


def body_name() -> str:
    """The instructions that the kernels run with here: `avx512`, `avx2` or `neon`.

    Raises: UnsupportedError: as `library`.
    """
    name: bytes = library().menura_body()
    return name.decode()


def why_not() -> str:
    """Why there are no native kernels here, in words; empty where they are or can be compiled.

    Compiles nothing and loads nothing.
    """
    features = devices.cpu().features
    needed = _NEEDED_FEATURES.get(os.uname().machine if hasattr(os, "uname") else "", set())
    if features and not needed <= set(features):
        return f"this CPU lacks {', '.join(sorted(needed - set(features)))}"
    try:
        default_recipe()
        if wheel_library() is None:
            find_compiler()
    except BuildError as error:
        return str(error)
    return ""


def find_or_build() -> Path:
    """The file of the library. Raises: BuildError: there is none and it cannot be compiled."""
    found = wheel_library()
    if found is not None:
        return found
    compiler = find_compiler()
    folder = _own_folder(folders().cache / "native")
    key = _key(compiler)
    for path in sorted(folder.glob(f"{key}-*{SUFFIX}")):
        if is_trusted(path):
            return path
        path.unlink()
    return _build_into(folder, key, compiler)


def wheel_library(folder: Path = WHEEL_FOLDER) -> Path | None:
    """The library that came with the package, if it was built from these very sources.

    It is as trusted as the package's Python files beside it; only its bytes are checked.
    """
    for path in sorted(folder.glob(f"{source_hash()[:16]}-*{SUFFIX}")):
        if _has_named_hash(path):
            return path
    return None


def is_trusted(path: Path) -> bool:
    """Whether a cached library is the user's own, writable by nobody else, and unchanged."""
    facts = path.lstat()
    is_own_file = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid()
    return is_own_file and not facts.st_mode & 0o022 and _has_named_hash(path)


def _has_named_hash(path: Path) -> bool:
    return named_by_content(path, path.name.partition("-")[0]) == path


def _key(compiler: Compiler) -> str:
    """What tells one build from another, in 16 hex digits."""
    words = "\0".join((source_hash(), *compiler.command, compiler.version))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def _own_folder(folder: Path) -> Path:
    """The folder, made if need be. Raises: BuildError: it is not the user's alone."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.lstat()
    except OSError as error:
        raise BuildError(f"{folder} cannot be used for compiled kernels: {error}") from error
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise BuildError(
            f"{folder} must be a folder that belongs to you and that only you may enter "
            "(chmod 700), because code is loaded from it"
        )
    return folder


def _build_into(folder: Path, key: str, compiler: Compiler) -> Path:
    """The new library in the folder. Others may do the same at once: each file appears whole."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="new-") as place:
        made = Path(place) / f"library{SUFFIX}"
        build(compiler, default_recipe(), made)
        made.chmod(0o600)
        target = folder / named_by_content(made, key).name
        made.replace(target)
    return target
