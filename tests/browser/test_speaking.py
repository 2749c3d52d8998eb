"""Speaking on the page: what is heard, when it begins, and what stops it."""

import re
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser import heard
from tests.browser.screens import Screens, number_in, opened
from tests.serving_process import Told

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

TEXT = "The lyrebird sings what it hears. It keeps the song for years. Nobody taught it how."


def test_every_sample_of_the_take_is_heard_once_and_without_a_gap(
    browser: "Browser", server: Told
) -> None:
    with opened(browser, server.address, bypass_csp=True) as screens:
        heard.listen(screens.page)
        screens.go("speak").choose("builtin", "heart")
        screens.spoken(TEXT)
        screens.played()
        take = np.array(
            screens.page.evaluate("Array.from(window.menura.take().samples)"), np.float32
        )
        played = heard.samples(screens.page)
        assert len(take) > 24_000
        assert heard.start_of(take, played) is not None
        assert not np.any(played[len(take) + (heard.start_of(take, played) or 0) :])
        assert screens.page.evaluate("window.menuraPlayer.samplesPlayed") == len(take)
        assert screens.page.evaluate("window.menuraPlayer.underruns") == 0


def test_the_take_is_what_the_server_says_for_the_same_request(
    screens: Screens, server: Told
) -> None:
    screens.go("speak").choose("builtin", "heart")
    screens.spoken(TEXT)
    seed = screens.page.evaluate("String(window.menura.take().segments[0].seed)")
    body = {"input": TEXT, "voice": "heart", "model": "builtin", "seed": int(seed)}
    with httpx.Client(base_url=server.address, timeout=60) as client:
        answer = client.post("/v1/audio/speech", json={**body, "response_format": "pcm"})
    assert screens.take_length() == len(answer.content) // 2


def test_it_plays_before_it_is_made_to_its_end(screens: Screens) -> None:
    screens.go("speak").choose("tone")
    screens.speak("one two ENDLESS")
    screens.until("window.menuraPlayer.samplesPlayed > 8000")
    assert screens.page.evaluate("window.menura.studio.live !== null")
    screens.button("Stop").click()
    expect(screens.button("Speak")).to_be_visible()


def test_stop_ends_the_work_and_the_sound(screens: Screens, server: Told) -> None:
    screens.go("speak").choose("tone")
    screens.speak("ENDLESS")
    screens.until("window.menuraPlayer.samplesPlayed > 0")
    screens.page.keyboard.press("Escape")
    expect(screens.button("Speak")).to_be_visible()
    screens.until("window.menura.studio.live === null")
    screens.go("status")
    expect(screens.page.locator(".tile").first).to_contain_text("0")


def test_an_error_is_shown_in_words_and_the_next_try_works(screens: Screens) -> None:
    screens.go("speak").choose("tone")
    screens.speak("FAIL")
    expect(screens.alert()).to_contain_text(re.compile("could not do this.* req_[0-9a-f]+"))
    screens.spoken("one two")
    expect(screens.alert()).to_have_count(0)


def test_one_segment_is_spoken_anew_and_stands_in_its_place(screens: Screens) -> None:
    screens.go("speak").choose("tone")
    screens.page.evaluate("localStorage.clear()")
    screens.spoken("one. " * 60)
    segments = screens.page.get_by_role("list").locator("li.segment")
    count = segments.count()
    assert count > 1
    before = screens.page.evaluate("Array.from(window.menura.take().samples)")
    screens.page.get_by_role("button", name=re.compile("Speak segment 1 again")).click()
    expect(screens.page.get_by_role("status").filter(has_text="was spoken again")).to_be_visible()
    expect(segments.first).to_contain_text("new")
    assert segments.count() == count
    after = screens.page.evaluate("Array.from(window.menura.take().samples)")
    assert after[-8000:] == before[-8000:]
    screens.page.locator("#undo").click()
    assert screens.page.evaluate("Array.from(window.menura.take().samples)") == before


def test_the_plan_says_how_long_it_will_be_before_anything_is_made(screens: Screens) -> None:
    screens.go("speak").choose("builtin")
    screens.write(TEXT)
    plan = screens.page.locator("#plan")
    expect(plan).to_contain_text("about")
    assert 2 < number_in(plan.inner_text()) < 30


def test_the_take_shows_its_first_sound_and_its_speed(screens: Screens) -> None:
    screens.go("speak").choose("builtin")
    screens.spoken(TEXT)
    facts = screens.page.locator("#dock")
    expect(facts).to_contain_text("first sound after")
    expect(facts).to_contain_text("real time")


@pytest.mark.parametrize("kind", ["mp3", "wav", "flac", "opus", "aac", "pcm"])
def test_the_take_is_downloaded_in_each_format(screens: Screens, kind: str) -> None:
    screens.go("speak").choose("builtin")
    screens.spoken("Take me home.")
    screens.button("Download").click()
    with screens.page.expect_download() as download:
        screens.page.get_by_role("menuitem", name=re.compile(kind, re.IGNORECASE)).click()
    assert download.value.suggested_filename.endswith(f".{kind}")
    assert download.value.path().stat().st_size > 1000
