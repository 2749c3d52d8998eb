"""Debian's Chromium, as the tests drive it: its flags, and what a page did that it must not do."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_LOCAL_SCHEMES = ("data", "blob")


def executable() -> str | None:
    """Where Chromium is; None without one."""
    return shutil.which("chromium")


@contextmanager
def started(microphone: Path) -> "Iterator[Browser]":
    """Chromium without a window; its microphone plays this WAV file over and over."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    flags = (
        *_FLAGS,
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={microphone}",
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(flags))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What a page said in its console, and which of its requests left the machine."""

    address: str
    faults: list[str] = field(default_factory=list)
    refused: int = 0
    """How many errors of the console only say that the server answered 4xx or 5xx."""

    def over(self, page: "Page") -> "Page":
        """The page, watched from now on."""
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        page.on("request", self._asked)
        return page

    def _said(self, message: "ConsoleMessage") -> None:
        if message.type != "error":
            return
        if message.text.startswith("Failed to load resource"):
            self.refused += 1
        else:
            self.faults.append(f"console: {message.text}")

    def _asked(self, request: "Request") -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in _LOCAL_SCHEMES and f"http://{parts.netloc}" != self.address:
            self.faults.append(f"request to {request.url}")
