"""Voices on the page: made from a file and a microphone, designed, spoken with, taken along."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser import clips
from tests.browser.screens import Screens

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route

pytestmark = pytest.mark.browser

TAKE = re.compile("Take [123]")


@pytest.fixture
def label(request: pytest.FixtureRequest) -> str:
    """A name of a voice that no other test uses."""
    return re.sub(r"[\W_]+", " ", request.node.name.removeprefix("test_"))[:60].strip()


def test_a_recording_is_checked_and_drawn_before_it_is_kept(
    screens: Screens, recording: Path, label: str
) -> None:
    screens.go("voices/add").give_recording(recording)
    page = screens.page
    expect(page.get_by_role("img", name=re.compile("Waveform of the recording"))).to_be_visible()
    expect(page.locator(".figures")).to_contain_text("7.9 s")
    expect(page.locator(".finding.note")).to_contain_text("no transcript")
    page.get_by_label("What is said in the recording").fill(clips.SENTENCE)
    page.get_by_label("Name", exact=True).focus()
    expect(page.locator(".finding")).to_have_count(0)
    screens.keep_voice(label)
    expect(screens.card(label)).to_contain_text("Recorded")
    expect(screens.card(label).locator("svg.wave")).to_be_visible()


def test_a_voice_is_made_with_the_microphone_by_reading_a_sentence(
    screens: Screens, label: str
) -> None:
    page = screens.go("voices/add").page
    screens.button("Record now").click()
    sentence = page.locator("blockquote").inner_text()
    screens.recorded(4)
    screens.button("Done").click()
    page.locator(".figures").wait_for()
    expect(page.get_by_label("What is said in the recording")).to_have_value(sentence)
    page.get_by_label("What is said in the recording").fill("")
    screens.keep_voice(label)
    expect(screens.card(label)).to_contain_text("Recorded")


def test_the_voice_speaks_with_the_model_that_clones(
    screens: Screens, recording: Path, label: str
) -> None:
    screens.add_voice(recording, label, clips.SENTENCE)
    card = screens.card(label)
    expect(card.locator(".badge.fit")).to_contain_text(["tiny-base"])
    expect(card.locator(".badge.unfit").first).to_be_visible()
    card.get_by_role("button", name="Speak with it").click()
    expect(screens.page.locator("#model")).to_have_value("tiny-base")
    expect(screens.page.locator("#voice option:checked")).to_have_text(label)
    screens.spoken("Hello.")
    assert screens.take_length() > 0
    assert screens.page.evaluate("window.menura.take().voice") == label


def test_what_is_wrong_with_a_recording_is_said_and_it_is_not_kept(
    screens: Screens, tmp_path: Path
) -> None:
    screens.go("voices/add").give_recording(clips.silent(tmp_path / "silent.wav"))
    refusal = screens.page.locator(".finding.refuse")
    expect(refusal.first).to_contain_text("Cannot be used")
    expect(screens.button("Save the voice")).to_be_disabled()
    expect(screens.page.locator(".trim")).to_have_count(0)  # nothing is kept of it
    expect(screens.page.locator(".figures")).not_to_contain_text("-70")
    screens.button("Take another recording").click()
    screens.give_recording(clips.clipped(tmp_path / "clipped.wav"))
    expect(screens.page.locator("svg.wave .span").first).to_be_visible()


def test_a_voice_is_not_kept_without_consent(screens: Screens, recording: Path, label: str) -> None:
    screens.go("voices/add").give_recording(recording)
    screens.page.get_by_label("Name", exact=True).fill(label)
    screens.button("Save the voice").click()
    assert screens.page.locator("input[type=radio]:invalid").count() == 2
    expect(screens.page.get_by_role("heading", name="Add a voice")).to_be_visible()


def test_consent_of_someone_else_says_who_agreed_and_how_and_is_kept(
    screens: Screens, recording: Path, label: str
) -> None:
    page = screens.go("voices/add").page
    screens.give_recording(recording)
    page.get_by_label("Name", exact=True).fill(label)
    page.get_by_label("Someone else").check()
    words = page.get_by_label("Who is it, and how did they agree?")
    expect(words).to_have_value("")
    expect(words).to_have_attribute("placeholder", re.compile(r"agreed on .*\d{4}"))
    words.fill("   ")
    screens.button("Save the voice").click()
    assert page.locator("textarea:invalid").count() == 1  # blank is nobody's consent
    words.fill("Maria Berg agreed on 3 May 2026, by e-mail.")
    screens.button("Save the voice").click()
    screens.card(label).wait_for()
    screens.button(f"Edit {label}").click()
    expect(page.get_by_label("Consent", exact=True)).to_have_value(
        "Maria Berg agreed on 3 May 2026, by e-mail."
    )


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("notes.wav", b"Dear diary, ...", "“notes.wav” is not a recording that can be read."),
        ("cut.wav", b"RIFF\x24\x00\x00\x00WAVEfmt ", "“cut.wav”"),
        ("nothing.wav", b"", "“nothing.wav” is empty."),
    ],
)
def test_a_file_that_is_no_recording_is_named_and_no_field_of_a_form(
    screens: Screens, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    given = tmp_path / name
    given.write_bytes(content)
    screens.go("voices/add").page.locator("input[data-role=clip]").set_input_files(given)
    expect(screens.alert()).to_contain_text(says)
    expect(screens.alert()).not_to_contain_text(re.compile("audio_sample|clip"))


def test_a_file_that_is_no_voice_is_named(screens: Screens, tmp_path: Path) -> None:
    given = tmp_path / "holiday.zip"
    given.write_bytes(b"not a voice")
    screens.go("voices").page.locator("input[data-role=import]").set_input_files(given)
    expect(screens.alert()).to_contain_text("“holiday.zip” is no voice")


def test_nobody_is_offered_a_transcript_that_the_server_cannot_write(
    screens: Screens, recording: Path
) -> None:
    page = screens.page
    able = {"on": False}

    def answer(route: "Route") -> None:
        given = route.fetch().json()
        route.fulfill(json={**given, "can_transcribe": able["on"]})

    page.route("**/v1/voices", answer)
    screens.go("voices/add").give_recording(recording)
    expect(screens.button("Write it down for me")).to_be_hidden()
    able["on"] = True
    screens.go("voices").go("voices/add").give_recording(recording)
    expect(screens.button("Write it down for me")).to_be_visible()


def test_markup_in_a_label_is_shown_as_text(screens: Screens, recording: Path) -> None:
    label = "<img src=x onerror=alert(1)><b>Eve</b>"
    screens.add_voice(recording, label)
    expect(screens.card(label).get_by_role("heading")).to_have_text(label)
    screens.go("speak").choose("tiny-base", label)
    screens.spoken("Hello.")
    expect(screens.page.locator("#dock")).to_contain_text(label)
    screens.go("history")
    expect(screens.page.locator("#takes")).to_contain_text(label)
    assert screens.page.locator("img").count() == 0


def test_a_voice_goes_out_as_a_file_and_comes_back_whole(
    screens: Screens, recording: Path, label: str, tmp_path: Path
) -> None:
    screens.add_voice(recording, label, clips.SENTENCE)
    with screens.page.expect_download() as given:
        screens.button(f"Export {label}").click()
    download = given.value
    assert download.suggested_filename == f"{label}.voice.zip"
    kept = tmp_path / download.suggested_filename
    download.save_as(kept)
    removed(screens, label)
    screens.page.locator("input[data-role=import]").set_input_files(kept)
    expect(screens.card(label)).to_be_visible()
    screens.button(f"Edit {label}").click()
    words = screens.page.get_by_label("What is said in the recording")
    expect(words).to_have_value(clips.SENTENCE)


def test_a_voice_is_renamed(screens: Screens, recording: Path, label: str) -> None:
    screens.add_voice(recording, label)
    screens.button(f"Edit {label}").click()
    screens.page.get_by_label("Name", exact=True).fill(f"{label} again")
    screens.button("Save").click()
    expect(screens.card(f"{label} again")).to_be_visible()
    expect(screens.card(label)).to_have_count(0)


def test_deleting_a_voice_deletes_its_takes_here(
    screens: Screens, recording: Path, label: str
) -> None:
    screens.add_voice(recording, label)
    screens.go("speak").choose("tiny-base", label)
    screens.spoken("Hello.")
    screens.go("history")
    expect(screens.page.locator("[data-take]")).to_have_count(1)
    screens.go("voices")
    removed(screens, label)
    screens.go("history")
    expect(screens.page.locator("[data-take]")).to_have_count(0)


def test_a_voice_is_designed_from_a_description(screens: Screens, label: str) -> None:
    page = screens.go("voices/design").page
    page.get_by_label("Who is it?").fill("An old sailor, hoarse and kind.")
    page.get_by_label("What they say").fill(clips.SENTENCE)
    drawn_takes(screens).last.check()
    page.get_by_label("Name", exact=True).fill(label)
    screens.button("Keep this voice").click()
    expect(screens.card(label)).to_contain_text("Designed")


def test_a_take_that_cannot_become_a_voice_says_so_and_cannot_be_chosen(screens: Screens) -> None:
    page = screens.go("voices/design").page
    page.route("**/v1/voices/check", refused_second())
    page.get_by_label("Who is it?").fill("A child, quick and bright.")
    screens.button("Draw three takes").click()
    expect(page.get_by_role("radio", name=TAKE)).to_have_count(3)
    second = page.get_by_role("radio", name="Take 2")
    expect(second).to_be_disabled()
    expect(second).to_have_accessible_description(re.compile("cannot become a voice"))


def drawn_takes(screens: Screens) -> "Locator":
    """The takes that can be kept; a random model says too little in one of seven."""
    fit = screens.page.get_by_role("radio", name=TAKE, disabled=False)
    for _ in range(5):
        screens.button("Draw three takes").click()
        expect(screens.page.get_by_role("radio", name=TAKE)).to_have_count(3)
        if fit.count():
            return fit
    raise AssertionError("fifteen takes in a row cannot become a voice")


def refused_second() -> Callable[["Route"], None]:
    """Answers checks as the server does, but refuses the second clip."""
    n_checked = itertools.count(1)

    def answer(route: "Route") -> None:
        told = route.fetch()
        body = told.json()
        refusal = {"code": "too_short", "severity": "refuse", "spans": [], "says": "", "do": ""}
        body["report"]["findings"] = [refusal] if next(n_checked) == 2 else []
        route.fulfill(response=told, json=body)

    return answer


def removed(screens: Screens, label: str) -> None:
    screens.button(f"Delete {label}").click()
    screens.button("Delete").click()
    expect(screens.card(label)).to_have_count(0)
