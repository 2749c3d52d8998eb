"""ModelScope, the other hub: where its cache lies, and one file brought by its own package.

The package `modelscope` is optional and heavy, so it is imported only when a person asks for
`--source modelscope`. It goes on with partial files by itself, and checks what it brings but not
what is in its cache already.
"""

import os
from pathlib import Path

from menura.errors import NO_ROOM, DownloadError, EngineNotInstalledError

# The names its releases gave to their errors; some derive from nothing more telling than Exception.
_ERROR_NAMES = (
    "HubError", "NotExistError", "RequestError", "FileDownloadError", "FileIntegrityError",
)  # fmt: skip


def cache_root() -> Path:
    """The folder of ModelScope's cache, as MODELSCOPE_CACHE says; it may not exist."""
    return Path(os.environ.get("MODELSCOPE_CACHE") or Path.home() / ".cache" / "modelscope")


def cached_folders(modelscope_id: str) -> list[Path]:
    """The existing folders that may hold this model, newest layout first.

    Three layouts have been in use, and older releases wrote the dots of a name as `___`.
    """
    root = cache_root()
    owner, _, name = modelscope_id.partition("/")
    snapshots = root / "models" / f"{owner}--{name}" / "snapshots"
    revisions = sorted(snapshots.iterdir()) if snapshots.is_dir() else []
    older = [
        root / parent / owner / spelling
        for parent in ("models", "hub/models", "hub", ".")
        for spelling in (name, name.replace(".", "___"))
    ]
    return [folder for folder in (*revisions, *older) if folder.is_dir()]


def bring(modelscope_id: str, name: str, revision: str | None) -> Path:
    """The file in ModelScope's cache, brought now if it is not there.

    Raises: EngineNotInstalledError: the package is missing. DownloadError: it failed.
        OSError: the disk is full.
    """
    try:
        from modelscope.hub import errors  # noqa: PLC0415
        from modelscope.hub.file_download import model_file_download  # noqa: PLC0415
    except ImportError as error:
        raise EngineNotInstalledError(
            "source 'modelscope' needs the package of that name: pip install modelscope",
            param="source",
        ) from error
    own_errors = tuple(getattr(errors, name) for name in _ERROR_NAMES if hasattr(errors, name))
    try:
        return Path(model_file_download(modelscope_id, name, revision=revision))
    except (OSError, ValueError, *own_errors) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        raise DownloadError(
            f"ModelScope could not bring {name} of {modelscope_id} ({type(error).__name__}: "
            f"{error}). What had arrived is kept: run the same command again, or pull without "
            "--source."
        ) from error
