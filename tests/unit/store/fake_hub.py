"""A hub on 127.0.0.1 with the three routes that a pull uses, and a clean place to pull into."""

import hashlib
import json
import re
import socketserver
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from io import BufferedIOBase
from pathlib import Path

import pytest
from huggingface_hub import constants

from menura.catalogue import KnownModel, lookup
from menura.store.cache import hub_cache, hub_repo_folder

COMMIT = "c0ffee" + "0" * 34
LARGE = (".safetensors", ".onnx")
QWEN = "Qwen/Qwen3-TTS-12Hz-0.6B-Base"
SMALL = "someone/small"
WEIGHTS = "model.safetensors"


def use_clean_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    """All caches and folders lie below `home`, and no variable of the caller's has an effect."""
    # huggingface_hub reads its variables once, when it is imported.
    patch.setattr(constants, "HF_HOME", str(home / "hf"))
    patch.setattr(constants, "HF_HUB_CACHE", str(home / "hf" / "hub"))
    patch.setattr(constants, "HF_TOKEN_PATH", str(home / "hf" / "token"))
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    patch.setattr(constants, "HF_HUB_DISABLE_SYMLINKS", False, raising=False)
    patch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")  # discard: nobody answers
    patch.setenv("MENURA_HOME", str(home / "menura"))
    patch.setenv("MODELSCOPE_CACHE", str(home / "modelscope"))
    patch.setenv("HIBARI_HOME", str(home / "hibari"))
    patch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        patch.delenv(name, raising=False)
        patch.delenv(name.lower(), raising=False)


def block_network(patch: pytest.MonkeyPatch) -> None:
    """Any attempt to connect anywhere fails the test."""

    def refuse(*_: object) -> None:
        raise AssertionError("something tried to reach the network")

    patch.setattr("socket.socket.connect", refuse)
    patch.setattr("socket.socket.connect_ex", refuse)
    patch.setattr("socket.getaddrinfo", refuse)


def safetensors(n_floats: int = 4, names: Sequence[str] = ("a",)) -> bytes:
    """A sound safetensors file with tensors of `n_floats` float32 each."""
    entries = {
        name: {
            "dtype": "F32",
            "shape": [n_floats],
            "data_offsets": [4 * n_floats * i, 4 * n_floats * (i + 1)],
        }
        for i, name in enumerate(names)
    }
    header = json.dumps(entries).encode()
    data = bytes(i % 251 for i in range(4 * n_floats * len(names)))
    return struct.pack("<Q", len(header)) + header + data


def git_digest(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest_of(name: str, content: bytes) -> str:
    return sha256(content) if name.endswith(LARGE) else git_digest(content)


class FakeHub(socketserver.ThreadingTCPServer):
    """The server: `repos` is what it has; the other attributes are ways to misbehave."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, dict[str, bytes]] = {}
        self.licence = "apache-2.0"
        self.announced: dict[str, dict[str, object]] = {}  # file -> fields put over the true ones
        self.cuts: dict[str, list[int]] = {}  # file -> bytes after which each answer breaks off
        self.status: dict[str, int] = {}  # file, or "" for the listing -> status to answer
        self.served: dict[str, bytes] = {}  # file -> content sent instead of the announced one
        self.ignores_range = False
        self.raw_listing: bytes | None = None
        self.redirect_to = ""  # another server that has the large files
        self.seen: list[tuple[str, str, str]] = []  # path, Range, Authorization
        self._held: dict[str, int] = {}  # file -> bytes after which its answers wait
        self._may_go = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def hold(self, name: str, after: int) -> None:
        """Answers with this file stop after so many bytes, until `let_go`."""
        self._held[name] = after

    def let_go(self) -> None:
        """What is held goes on, and nothing is held any more."""
        self._held.clear()
        self._may_go.set()

    def send(self, name: str, content: bytes, out: BufferedIOBase) -> None:
        """Write a file's content, as far as it may go."""
        after = self._held.get(name, len(content))
        out.write(content[:after])
        if after < len(content):
            out.flush()
            self._may_go.wait()
            out.write(content[after:])

    def ranges(self, name: str) -> list[str]:
        """The Range header of each request for a file."""
        return [asked for path, asked, _ in self.seen if path.endswith(f"/{name}")]

    def listing(self, repo: str) -> bytes:
        if self.raw_listing is not None:
            return self.raw_listing
        siblings = []
        for name, content in self.repos[repo].items():
            entry: dict[str, object] = {
                "rfilename": name,
                "size": len(content),
                "blobId": git_digest(content),
            }
            if name.endswith(LARGE):
                entry["lfs"] = {"sha256": sha256(content), "size": len(content)}
            siblings.append({**entry, **self.announced.get(name, {})})
        answer = {"sha": COMMIT, "siblings": siblings, "cardData": {"license": self.licence}}
        return json.dumps(answer).encode()

    def handle_error(self, request: object, client_address: object) -> None:
        """Silent: clients that break off are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
        """Silent."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        headers = self.headers
        self.server.seen.append((path, headers.get("Range", ""), headers.get("Authorization", "")))
        listing = re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path)
        file = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if listing:
            self._answer_listing(listing[1])
        elif file:
            self._answer_file(file[1], file[3])
        else:
            self.send_error(404)

    def _answer_listing(self, repo: str) -> None:
        if "" in self.server.status or repo not in self.server.repos:
            self.send_error(self.server.status.get("", 404))
            return
        body = self.server.listing(repo)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer_file(self, repo: str, name: str) -> None:
        if name in self.server.status:
            self.send_error(self.server.status[name])
            return
        if self.server.redirect_to and name.endswith(LARGE):
            self.send_response(302)
            self.send_header("Location", self.server.redirect_to + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = self.server.served.get(name, self.server.repos[repo][name])
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if asked and not self.server.ignores_range:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            content = content[start:]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        cuts = self.server.cuts.get(name)
        self.server.send(name, content[: cuts.pop(0)] if cuts else content, self.wfile)
        if cuts is not None:
            self.close_connection = True


@contextmanager
def running_hub(patch: pytest.MonkeyPatch | None = None) -> Iterator[FakeHub]:
    """A running hub; with `patch` it is the one that HF_ENDPOINT names."""
    with FakeHub() as hub:
        thread = threading.Thread(target=hub.serve_forever, args=(0.01,))
        thread.start()
        if patch is not None:
            patch.setattr(constants, "ENDPOINT", hub.url)
        try:
            yield hub
        finally:
            hub.let_go()
            hub.shutdown()
            thread.join()


def cache_repo(hub_id: str, files: dict[str, bytes], commit: str = COMMIT) -> Path:
    """The snapshot folder of a repository put into the cache as huggingface_hub lays it out."""
    repo = Path(constants.HF_HUB_CACHE) / f"models--{hub_id.replace('/', '--')}"
    (repo / "blobs").mkdir(parents=True, exist_ok=True)
    (repo / "refs").mkdir(exist_ok=True)
    (repo / "refs" / "main").write_text(commit)
    snapshot = repo / "snapshots" / commit
    snapshot.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        blob = repo / "blobs" / digest_of(name, content)
        blob.write_bytes(content)
        pointer = snapshot / name
        pointer.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * (2 + name.count("/"))
        pointer.symlink_to(f"{up}blobs/{blob.name}")
    return snapshot


BIG = safetensors(700_000)  # a few steps of a transfer


def known(name: str) -> KnownModel:
    model = lookup(name)
    assert model is not None
    return model


def files_of(name: str) -> dict[str, bytes]:
    """A small stand-in for each file of the first repository of a known model."""
    names = [file.name for file in known(name).repos[0].files]
    return {n: safetensors(9) if n.endswith(".safetensors") else n.encode() for n in names}


def offer_small(hub: FakeHub) -> None:
    hub.repos[SMALL] = {"config.json": b"{}", WEIGHTS: BIG}


def brought(hub_id: str = SMALL) -> Path:
    """The folder that a pull from the fake hub makes."""
    return hub_repo_folder(hub_id) / "snapshots" / COMMIT


def partials() -> list[Path]:
    return list(hub_cache().rglob("*.incomplete"))


def nothing_is_installed() -> bool:
    """Nothing stands under its name, and no blob of the weights is called whole."""
    blob = hub_repo_folder(SMALL) / "blobs" / sha256(BIG)
    return not brought().exists() and not blob.exists()
