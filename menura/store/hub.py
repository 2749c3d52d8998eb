"""What a Hugging Face hub says of a repository, and the connection that asks it.

huggingface_hub knows where the hub is (HF_ENDPOINT), who asks (HF_TOKEN), whether it may be asked
at all (HF_HUB_OFFLINE) and how long to wait. The requests themselves are made here, so that one
place turns every way in which a network fails into one clear error, whatever HTTP library the
installed huggingface_hub is built on. Nothing that comes from the network is believed: a file name
that leaves its folder, or a digest that is none, ends the pull.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from menura import __version__
from menura.errors import DownloadError

if TYPE_CHECKING:
    import httpx

_COMMIT = re.compile("[0-9a-f]{40}")
_GIT_BLOB_DIGITS = 40


@dataclass(frozen=True)
class RemoteFile:
    """One file as the hub announces it: a SHA-256 for large files, a git blob's SHA-1 for small."""

    name: str
    n_bytes: int
    digest: str

    @property
    def is_git_blob(self) -> bool:
        """Whether the digest is a git blob's SHA-1."""
        return len(self.digest) == _GIT_BLOB_DIGITS


@dataclass(frozen=True)
class RemoteRepo:
    """One repository at one commit, with the licence that its card states (or an empty string)."""

    hub_id: str
    commit: str
    licence: str
    files: tuple[RemoteFile, ...]


def endpoint() -> str:
    """The hub's address."""
    from huggingface_hub import constants  # noqa: PLC0415

    return constants.ENDPOINT


def file_url(repo: RemoteRepo, file: RemoteFile) -> str:
    """The address of one file at the repository's commit."""
    return f"{endpoint()}/{repo.hub_id}/resolve/{repo.commit}/{quote(file.name)}"


def refuse_when_offline(name: str) -> None:
    """Nothing, if the hub may be asked.

    Raises: DownloadError: HF_HUB_OFFLINE forbids it.
    """
    from huggingface_hub import constants  # noqa: PLC0415

    if constants.HF_HUB_OFFLINE:
        raise DownloadError(
            f"cannot pull {name!r}: HF_HUB_OFFLINE forbids all contact with the hub. Unset it, or "
            "copy the model's folder here by hand and give that folder instead of a name."
        )


@contextmanager
def hub_client() -> Iterator["httpx.Client"]:
    """A client with the user's token and time limits; no other host is sent the token."""
    import httpx  # noqa: PLC0415
    from huggingface_hub import constants, get_token  # noqa: PLC0415

    # Unpacked bytes, so that sizes and ranges are those of the file itself.
    headers = {"User-Agent": f"menura/{__version__}", "Accept-Encoding": "identity"}
    token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    if token:
        headers["Authorization"] = f"Bearer {token}"
    timeout = httpx.Timeout(constants.HF_HUB_DOWNLOAD_TIMEOUT)
    with httpx.Client(headers=headers, timeout=timeout, follow_redirects=True) as client:
        yield client


@contextmanager
def network_errors(hub_id: str) -> Iterator[None]:
    """Runs the block; every way in which the network can fail inside becomes a DownloadError."""
    import httpx  # noqa: PLC0415

    try:
        yield
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        raise DownloadError(f"cannot pull {hub_id!r}: {_meaning(status, hub_id)}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DownloadError(
            f"cannot pull {hub_id!r}: the connection to {endpoint()} failed "
            f"({type(error).__name__}: {error}). What had arrived is kept, and the same command "
            "goes on with it. If the hub cannot be reached from here: set HF_ENDPOINT to a mirror, "
            "try --source modelscope, or copy the folder by hand and give that folder."
        ) from error


def _meaning(status: int, hub_id: str) -> str:
    page = f"{endpoint()}/{hub_id}"
    if status in {401, 403}:
        return (
            f"the hub answered {status}. Either there is no such repository, or it is private or "
            f"gated: accept its terms at {page} and set HF_TOKEN."
        )
    if status == 404:
        return f"the hub answered 404: {page} has no such repository, revision or file."
    if status == 429:
        return "the hub answered 429: too many requests. Wait a while, or set HF_TOKEN."
    return f"the hub answered {status}. Try again later; what had arrived is kept."


def list_repo(client: "httpx.Client", hub_id: str, revision: str) -> RemoteRepo:
    """What the hub says of a repository at a revision (a branch, a tag or a commit).

    Raises: DownloadError: the hub cannot be reached, knows no such thing, or is not a hub.
    """
    with network_errors(hub_id):
        answer = client.get(
            f"{endpoint()}/api/models/{hub_id}/revision/{quote(revision, safe='')}",
            params={"blobs": "true"},
        )
        answer.raise_for_status()
    try:
        found: object = answer.json()
    except (ValueError, RecursionError) as error:
        raise _not_a_hub() from error
    if not isinstance(found, dict) or not isinstance(found.get("siblings"), list):
        raise _not_a_hub()
    commit = found.get("sha")
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise _not_a_hub()
    card = found.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else None
    return RemoteRepo(
        hub_id=hub_id,
        commit=commit,
        licence=licence if isinstance(licence, str) else "",
        files=tuple(_remote_file(entry) for entry in found["siblings"]),
    )


def _remote_file(entry: object) -> RemoteFile:
    if not isinstance(entry, dict):
        raise _not_a_hub()
    lfs = entry.get("lfs")
    digest = lfs.get("sha256") if isinstance(lfs, dict) else entry.get("blobId")
    digits = 64 if isinstance(lfs, dict) else _GIT_BLOB_DIGITS
    name, n_bytes = entry.get("rfilename"), entry.get("size")
    if not isinstance(name, str) or not _stays_inside(name):
        raise _not_a_hub()
    if type(n_bytes) is not int or n_bytes < 0:
        raise _not_a_hub()
    if not isinstance(digest, str) or not re.fullmatch(f"[0-9a-f]{{{digits}}}", digest):
        raise _not_a_hub()
    return RemoteFile(name, n_bytes, digest)


def _stays_inside(name: str) -> bool:
    """Whether a name from the network is a plain relative path on every system."""
    parts = PurePosixPath(name).parts
    return bool(parts) and ".." not in parts and parts[0] != "/" and not set(name) & set("\\:\0")


def _not_a_hub() -> DownloadError:
    return DownloadError(
        f"{endpoint()} does not answer like a Hugging Face hub. If HF_ENDPOINT is set, check it; a "
        "proxy, or a network that wants a login first, can also be the cause."
    )
