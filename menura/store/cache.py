"""Where models lie on this machine: the caches of huggingface_hub, ModelScope and hibari.

Only folders are looked at: nothing here writes, and nothing can reach the network, because no hub
client is called. The Hugging Face cache has a documented layout:
    models--ORG--NAME/refs/REVISION            the commit that a branch or tag means
    models--ORG--NAME/snapshots/COMMIT/FILE    a link to
    models--ORG--NAME/blobs/DIGEST             the bytes
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from menura.catalogue import ECHO, KnownModel, Repo, lookup
from menura.store.modelscope import cached_folders
from menura.store.tensors import tensor_names

_MAX_CONFIG_BYTES = 1_000_000
_ECHO_TENSORS = {"in_proj.weight", "out_proj.weight", "speaker_encoder.in_proj.weight"}


class Hub(StrEnum):
    """A place that models are pulled from."""

    HUGGINGFACE = "huggingface"
    MODELSCOPE = "modelscope"


@dataclass(frozen=True)
class Copy:
    """One repository as it lies in a folder: its hub and commit, and the needed files it lacks.

    `hub` is None for a folder of the user's. `revision` is empty where nobody knows it.
    """

    repo: Repo
    folder: Path
    hub: Hub | None = None
    revision: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """The needed files that are not in the folder; a link to nothing counts as missing.

        Weights are there in shards too, where an index lists them. A user's own folder may lack
        what is optional; a pull brings everything.
        """
        needed = (f for f in self.repo.files if self.hub is not None or not f.is_optional)
        return tuple(f.name for f in needed if not self._has(f.name))

    def _has(self, name: str) -> bool:
        return any((self.folder / found).is_file() for found in (name, f"{name}.index.json"))


def hub_cache() -> Path:
    """The Hugging Face cache folder, as HF_HUB_CACHE and HF_HOME say; it may not exist yet."""
    from huggingface_hub import constants  # noqa: PLC0415

    return Path(constants.HF_HUB_CACHE)


def hub_repo_folder(hub_id: str) -> Path:
    """The folder of one repository in the Hugging Face cache; it may not exist."""
    return hub_cache() / f"models--{hub_id.replace('/', '--')}"


def snapshot_folders(repo_folder: Path) -> list[Path]:
    """The snapshots of one cached repository: the one called main first, then the newest first."""
    try:
        found = [folder for folder in (repo_folder / "snapshots").iterdir() if folder.is_dir()]
    except OSError:
        return []
    main = _main_commit(repo_folder)
    return sorted(found, key=lambda folder: (folder.name != main, -folder.stat().st_mtime))


def _main_commit(repo_folder: Path) -> str:
    try:
        return (repo_folder / "refs" / "main").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def find_copy(repo: Repo) -> Copy | None:
    """The best copy of a repository in any cache: a complete one, else the least incomplete."""
    return min(cached_copies(repo), key=lambda copy: len(copy.missing), default=None)


def cached_copies(repo: Repo) -> Iterator[Copy]:
    """All copies of a repository in the caches, the likeliest first."""
    for folder in snapshot_folders(hub_repo_folder(repo.hub_id)):
        yield Copy(repo, folder, Hub.HUGGINGFACE, folder.name)
    for folder in cached_folders(repo.modelscope_id) if repo.modelscope_id else ():
        inside = identify(folder)
        if inside is None or repo in inside.repos:  # else a folder under another model's name
            yield Copy(repo, folder, Hub.MODELSCOPE)


def identify(folder: Path) -> KnownModel | None:
    """The known model that a folder holds or is a variant of, judged by its configuration."""
    if (folder / "pca_state.safetensors").is_file() or _has_transformer_of_echo(folder):
        return ECHO
    try:
        path = folder / "config.json"
        if path.stat().st_size > _MAX_CONFIG_BYTES:
            return None
        config: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(config, dict) or config.get("model_type") != "qwen3_tts":
        return None
    size = {"0b6": "0.6b", "1b7": "1.7b"}.get(str(config.get("tts_model_size")))
    kind = str(config.get("tts_model_type")).replace("_", "")
    return lookup(f"qwen3-tts-{size}-{kind}")


def _has_transformer_of_echo(folder: Path) -> bool:
    """Whether the tensors are those of Echo's transformer: its other file may be missing."""
    names = tensor_names(folder, "pytorch_model.safetensors")
    return len(names & _ECHO_TENSORS) > 1


def builtin_assets() -> Path | None:
    """The folder of the built-in voice's own files, found without importing it; None if missing."""
    spec = find_spec("hibari")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "assets"


def hibari_cache() -> Path:
    """The folder where the library hibari itself keeps voices that its user fetched."""
    home = os.environ.get("HIBARI_HOME")
    if home:
        return Path(home)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local or Path.home() / "AppData" / "Local") / "hibari"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hibari"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hibari"
