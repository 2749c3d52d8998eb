"""Speaking on the page: what is heard, when it begins, and what stops it."""

import itertools
import re
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser import heard
from tests.browser.screens import Screens, number_in, opened
from tests.serving_process import Told, serving, tone_model

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


def test_a_click_that_comes_twice_speaks_once(screens: Screens) -> None:
    screens.go("speak").choose("builtin")
    screens.write("Twice.")
    screens.button("Speak").dblclick()
    screens.made()
    assert screens.take_length() > 0


def test_a_text_that_is_too_long_for_one_request_is_spoken_in_parts(
    browser: "Browser", tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("short")
    flags = ("--no-key", "--max-characters", "40", "--model", tone_model(folder / "tone"))
    text = "One two three. Four five six seven.\n\nEight nine ten. Eleven twelve thirteen."
    with serving(folder / "home", *flags) as told, opened(browser, told.address) as screens:
        screens.go("speak").choose("tone", "low")
        screens.write(text)
        expect(screens.page.locator("#plan")).to_contain_text("in 2 parts, one after another")
        screens.button("Speak").click()
        screens.made()
        take = "window.menura.take()"
        assert screens.page.evaluate(
            f"{take}.segments.map((one) => one.text).join('')"
        ) == text.replace("\n", "")
        places = screens.page.evaluate(f"{take}.segments.map((one) => [one.start, one.end])")
        assert places[0][0] == 0
        assert places[-1][1] == len(text)
        ends = screens.page.evaluate(f"{take}.segments.map((one) => [one.from, one.to])")
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(ends))
        assert ends[-1][1] <= screens.take_length()
        screens.page.locator("#copy-request").click()
        expect(screens.page.locator("#request")).to_contain_text("the first of its 2 parts")


def test_what_came_before_stop_is_kept(screens: Screens) -> None:
    screens.go("speak").choose("tone", "low")
    screens.speak("ENDLESS")
    screens.until("window.menuraPlayer.samplesPlayed > 8000")
    screens.button("Stop").click()
    screens.made()
    assert screens.take_length() > 8000
    expect(screens.page.locator("li.segment")).to_contain_text("stopped here")
    screens.page.locator("#play").click()
    screens.until("window.menuraPlayer.state === 'playing'")
    screens.go("history")
    expect(screens.page.locator("[data-take]")).to_have_count(1)


def test_letters_that_a_model_does_not_read_are_said_in_words(screens: Screens) -> None:
    screens.go("speak").choose("builtin")
    screens.write("今天")
    expect(screens.alert()).to_contain_text(
        "This model cannot read some letters of the text: 今 天."
    )
    screens.button("Speak").click()
    expect(screens.page.locator("#announcer")).to_have_text("")


def test_what_is_spoken_is_called_by_the_voices_name(screens: Screens) -> None:
    screens.go("speak").choose("tone", "low")
    screens.speak("ENDLESS")
    expect(screens.page.locator("#dock strong")).to_have_text("low")
    screens.button("Stop").click()
    expect(screens.page.locator("#announcer")).to_have_text("Stopped.")


def test_a_request_has_a_key_only_where_the_server_wants_one(screens: Screens) -> None:
    screens.go("speak").choose("builtin")
    screens.spoken("Once.")
    screens.page.locator("#copy-request").click()
    text = screens.page.locator("#request-text")
    expect(text).to_contain_text("/v1/audio/speech")
    expect(text).not_to_contain_text("MENURA_KEY")
    screens.page.locator("#request-python").click()
    expect(text).not_to_contain_text("MENURA_KEY")


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
