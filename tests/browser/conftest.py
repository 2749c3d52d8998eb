"""One Chromium for all tests here, and the servers that it opens; each test has a page of its own.

Without playwright (`make browser` installs it) or without Chromium these tests are not collected.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from menura.engines.qwen3_tts import tiny
from tests.browser import chromium, clips
from tests.browser.screens import LIMIT_MS, PHONE, Screens, opened
from tests.serving_process import Told, serving, tone_model

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# A server that compiles no kernels: tiny models are as fast without.
_PLAIN = ("--precision", "exact", "--threads", "1")

if find_spec("playwright") is None or chromium.executable() is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good recording of one speaker."""
    return clips.spoken(tmp_path_factory.mktemp("recording") / "anna.wav")


@pytest.fixture(scope="session")
def browser(recording: Path) -> "Iterator[Browser]":
    """Chromium, with the recording for a microphone."""
    from playwright.sync_api import expect  # noqa: PLC0415

    expect.set_options(timeout=LIMIT_MS)
    with chromium.started(recording) as started:
        yield started


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A server without a key: the built-in voice, tiny models that clone and design, and tones."""
    folder = tmp_path_factory.mktemp("server")
    models = (
        "builtin",
        tiny.write(folder / "tiny-base"),
        tiny.write(folder / "tiny-design", tiny.Tiny("voice_design")),
        tone_model(folder / "tone"),
    )
    flags = [flag for model in models for flag in ("--model", model)]
    with serving(folder / "home", "--no-key", "--max-models", "4", *_PLAIN, *flags) as told:
        with httpx.Client(base_url=told.address, timeout=60) as client:
            client.get("/v1/models").raise_for_status()  # what each model is, read once
        yield told


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A server as it comes: with a key, and the built-in voice."""
    with serving(tmp_path_factory.mktemp("keyed") / "home") as told:
        yield told


@pytest.fixture
def screens(browser: "Browser", server: Told) -> Iterator[Screens]:
    """The page of the server without a key, in English, 1440 px wide; it must stay clean."""
    with opened(browser, server.address) as page:
        yield page


@pytest.fixture
def narrow(browser: "Browser", server: Told) -> Iterator[Screens]:
    """The same on a phone."""
    with opened(browser, server.address, viewport=PHONE, has_touch=True) as page:
        yield page
