"""A newcomer's way, timed: from `menura serve` to the first sentence in a voice of their own."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from menura.engines.qwen3_tts import tiny
from tests.browser.screens import LIMIT_MS, opened
from tests.serving_process import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def test_from_serve_to_the_first_cloned_sentence(
    browser: "Browser", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tiny.write(tmp_path / "tiny-base")
    times: list[tuple[str, float]] = []
    start = time.monotonic()

    def at(step: str) -> None:
        times.append((step, time.monotonic() - start))

    with serving(tmp_path / "home", "--model", model) as told:
        at("the server is ready")
        with opened(browser, told.address) as screens:
            page = screens.go("speak").page
            page.get_by_label("Key", exact=True).fill(told.key)
            screens.button("Sign in").click()
            page.get_by_role("link", name="Add a voice").click()
            at("the page says what is missing, and leads there")
            screens.button("Record now").click()
            screens.recorded(6)
            screens.button("Done").click()
            page.locator(".figures").wait_for()
            at("six seconds were recorded and checked")
            page.get_by_label("What is said in the recording").fill("")
            screens.keep_voice("Me")
            at("the voice is kept")
            screens.card("Me").get_by_role("button", name="Speak with it").click()
            screens.speak("Hello the world.")
            screens.made(limit_ms=10 * LIMIT_MS)  # the model's kernels are compiled before
            assert page.evaluate("window.menura.take().voice") == "Me"
            at("the first sentence is spoken")
    with capsys.disabled():
        print()  # noqa: T201
        for step, seconds in times:
            print(f"newcomer {seconds:6.1f} s  {step}")  # noqa: T201


def test_a_voice_that_no_model_here_can_use_leads_to_one_that_can(
    browser: "Browser", tmp_path: Path, recording: Path
) -> None:
    with serving(tmp_path / "home", "--no-key") as told, opened(browser, told.address) as screens:
        screens.add_voice(recording, "Newcomer")
        card = screens.card("Newcomer")
        expect(card).to_contain_text(re.compile("No model here .* qwen3-tts-0.6b-base can"))
        assert screens.page.get_by_role("button", name="Speak with it").count() == 0
        card.get_by_role("link", name="Get the model").click()
        expect(screens.button("Fetch qwen3-tts-0.6b-base")).to_be_focused()
