"""A model is taken off this machine: out of the caches that are known, never a user's folder.

The Hugging Face cache is cleared by huggingface_hub's own strategy, which knows what other models
share. One file of a repository (a built-in voice) is removed with its blob. A link that leads out
of a repository or a cache is removed, and what it leads to is left alone.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from menura.catalogue import BUILTIN, KnownModel, Repo, lookup, suggest
from menura.errors import InvalidValueError, ModelNotFoundError
from menura.store.cache import Hub, cached_copies, hibari_cache, hub_repo_folder, snapshot_folders
from menura.store.modelscope import cache_root
from menura.store.records import forget_records
from menura.store.resolve import is_hub_id


def remove(name: str) -> int:
    """The bytes that were freed.

    Raises: InvalidValueError: a folder of the user's, or a part of the package.
        ModelNotFoundError: nothing of the model is in a cache.
    """
    known = lookup(name)
    if known is not None and known.engine == BUILTIN:
        freed = _remove_voice(known)
    else:
        if known is None and not is_hub_id(name):
            raise _not_removable(name)
        repos = known.repos if known else (Repo(name, ()),)
        freed = [size for repo in repos for size in _remove_repo(repo)]
    if not freed:
        raise ModelNotFoundError(
            f"nothing of model {name!r} is in a cache on this machine.", param="name"
        )
    return sum(freed)


def _not_removable(name: str) -> InvalidValueError | ModelNotFoundError:
    if os.path.exists(name):  # noqa: PTH110 - a Path of any text may raise
        return InvalidValueError(
            f"{name!r} is a folder or file of yours. Menura removes only what is in a hub's cache; "
            "delete it yourself.",
            param="name",
        )
    return ModelNotFoundError(f"model {name!r} is not known.{suggest(name)}", param="name")


def _remove_repo(repo: Repo) -> list[int]:
    """The bytes freed in each cache that held the repository."""
    freed: list[int] = []
    folders = [copy.folder for copy in cached_copies(repo) if copy.hub is Hub.MODELSCOPE]
    for folder in folders:
        if _is_below(folder, cache_root()):
            freed.append(_remove_folder(folder))
            forget_records(Hub.MODELSCOPE, repo.hub_id)
    folder = hub_repo_folder(repo.hub_id)
    if folder.is_dir():
        freed.append(_remove_hub_repo(folder))
        forget_records(Hub.HUGGINGFACE, repo.hub_id)
    return freed


def _is_below(path: Path, root: Path) -> bool:
    """Whether the path itself, whatever it may link to, is in the root folder."""
    return path.parent.resolve().is_relative_to(root.resolve())


def _remove_folder(folder: Path) -> int:
    """The bytes freed; of a link only the link goes."""
    if folder.is_symlink():
        folder.unlink()
        return 0
    freed = sum(map(_own_bytes, folder.rglob("*")))
    shutil.rmtree(folder)
    return freed


def _remove_hub_repo(folder: Path) -> int:
    from huggingface_hub import scan_cache_dir  # noqa: PLC0415

    if folder.is_symlink():
        return _remove_folder(folder)
    # Newer releases of huggingface_hub keep content that repositories share beside them all.
    blobs = [blob for blob in (folder / "blobs").glob("*") if blob.is_symlink() and blob.is_file()]
    linked = {blob.resolve(): blob.stat().st_size for blob in blobs}
    freed = sum(map(_own_bytes, (*folder.glob("blobs/*"), *folder.glob("snapshots/**/*"))))
    cache = scan_cache_dir(folder.parent)
    for repo in cache.repos:
        if Path(repo.repo_path).name == folder.name:
            # Two repositories can share a commit, and the strategy asks for nothing but commits.
            alone = replace(cache, repos=frozenset({repo}))
            alone.delete_revisions(*(r.commit_hash for r in repo.revisions)).execute()
    if folder.is_dir():  # only partial files were there, which the scan does not call a repository
        shutil.rmtree(folder)
    return freed + sum(size for content, size in linked.items() if not content.exists())


def _remove_voice(known: KnownModel) -> list[int]:
    """The bytes freed for each place that held the voice's file."""
    if not known.repos:
        raise InvalidValueError(
            f"model {known.name!r} is part of Menura's installation and cannot be removed alone.",
            param="name",
        )
    (repo,) = known.repos
    file = repo.files[0].name
    folder = hub_repo_folder(repo.hub_id)
    doomed = {hibari_cache() / Path(file).name}
    for snapshot in snapshot_folders(folder):
        doomed.update(_name_and_content(snapshot / file, folder))
    here = [path for path in doomed if path.is_file() or path.is_symlink()]
    freed = [_own_bytes(path) for path in here]
    for path in here:
        path.unlink()
    return freed


def _name_and_content(pointer: Path, folder: Path) -> Iterator[Path]:
    """A file's name in a snapshot and its blob: each only if it is in the repository's folder.

    A person may have put a link to a file of their own into a snapshot: that file is not ours.
    """
    if _is_below(pointer, folder):
        yield pointer
        if pointer.is_symlink():
            target = pointer.parent / pointer.readlink()
            if target.parent.resolve() == (folder / "blobs").resolve():
                yield target.parent.resolve() / target.name


def _own_bytes(path: Path) -> int:
    """The size of a file; 0 for links and folders."""
    return path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
