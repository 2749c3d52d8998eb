"""Puts the compiled kernels into the wheel, where MENURA_BUILD_NATIVE=1 asks for them.

Such a wheel belongs to one platform. An ordinary build needs no compiler and gives a wheel for all
platforms; its kernels are compiled on first use.
"""

import os
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeBuildHook(BuildHookInterface[object]):
    """Compiles before the wheel is put together."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Add the library to the wheel's files, and the platform to its name."""
        del version
        if os.environ.get("MENURA_BUILD_NATIVE") != "1":
            return
        library = _build(Path(self.root))
        inside = str(library.relative_to(self.root))
        build_data["force_include"] = {inside: inside}
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"


def _build(root: Path) -> Path:
    """The new library in the source tree; older ones are removed."""
    sys.path.insert(0, str(root))
    from menura.runtime.native import compiler  # noqa: PLC0415 - it lies in what is being built

    folder = root / compiler.WHEEL_FOLDER.relative_to(compiler.SOURCES.parents[2])
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    made = folder / f"library{compiler.SUFFIX}"
    bodies = compiler.default_recipe().bodies
    # The C++ runtime of the building machine may be newer than the user's.
    link_flags = () if sys.platform == "darwin" else ("-static-libstdc++", "-static-libgcc")
    compiler.build(compiler.find_compiler(), compiler.Recipe(bodies, link_flags=link_flags), made)
    return made.rename(compiler.named_by_content(made, compiler.source_hash()[:16]))
