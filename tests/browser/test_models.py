"""Models and Status on the page: what is here and loaded, and what the server did."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.screens import Screens

pytestmark = pytest.mark.browser


def row(screens: Screens, model: str) -> Locator:
    return screens.page.locator(f"[data-model='{model}']")


def test_installed_models_come_first_and_the_others_say_what_they_weigh(screens: Screens) -> None:
    screens.go("models")
    installed = screens.page.get_by_role("list", name="Installed")
    expect(installed).to_contain_text("builtin")
    expect(installed).to_contain_text("tiny-base")
    expect(row(screens, "echo-tts-base")).to_contain_text(re.compile(r"7\.5 GB to fetch"))
    expect(row(screens, "echo-tts-base")).to_contain_text("CC-BY-NC-SA-4.0")


def test_what_can_be_fetched_does_not_shout_and_built_in_voices_stand_together(
    screens: Screens,
) -> None:
    page = screens.go("models").page
    expect(page.get_by_role("list", name="More built-in voices").locator("li")).to_have_count(4)
    expect(row(screens, "builtin-emma")).to_contain_text("English, British, female")
    expect(page.get_by_role("list", name="More to fetch")).not_to_contain_text("builtin-")
    assert page.locator(".button.primary").filter(visible=True).count() <= 1


def test_a_model_is_loaded_and_unloaded(screens: Screens) -> None:
    screens.go("models")
    tone = row(screens, "tone")
    tone.get_by_role("button", name=re.compile("^(Load|Unload) tone$")).wait_for()
    if tone.get_by_role("button", name="Unload tone").count():
        screens.button("Unload tone").click()
    screens.button("Load tone").click()
    expect(tone.locator(".badge")).to_have_text("loaded")
    expect(tone).to_contain_text("in memory")
    screens.button("Unload tone").click()
    expect(tone.locator(".badge")).to_have_text("not loaded")


def test_the_size_and_the_licence_are_agreed_to_before_a_download(screens: Screens) -> None:
    screens.go("models")
    screens.button("Fetch echo-tts-base").click()
    dialog = screens.page.get_by_role("dialog")
    expect(dialog).to_contain_text("7.5 GB")
    expect(dialog).to_contain_text("CC-BY-NC-SA-4.0")
    dialog.get_by_role("button", name="Cancel").click()
    expect(screens.button("Fetch echo-tts-base")).to_be_focused()


def test_the_files_of_a_model_are_verified(screens: Screens) -> None:
    screens.go("models")
    screens.button("Verify the files of tiny-base").click()
    told = screens.page.locator(".toast")
    expect(told).to_contain_text("tiny-base")


def test_a_check_that_is_over_before_the_page_looks_is_told_of_too(screens: Screens) -> None:
    screens.go("models")
    job = {
        "id": "job_1", "kind": "verify", "model": "tiny-base", "state": "running", "done_bytes": 0,
        "total_bytes": 0, "phase": "", "message": "", "report": None,
    }  # fmt: skip
    over = {**job, "state": "done"}
    screens.page.route("**/verify", lambda route: route.fulfill(json={"job": job}))
    screens.page.route("**/v1/store/jobs", lambda route: route.fulfill(json={"data": [over]}))
    screens.button("Verify the files of tiny-base").click()
    expect(screens.page.locator(".toast")).to_contain_text("tiny-base")


def test_why_a_download_failed_stays_in_its_row(screens: Screens) -> None:
    job = {
        "id": "job_1", "kind": "pull", "model": "echo-tts-base", "state": "failed", "done_bytes": 0,
        "total_bytes": 0, "phase": "", "message": "cannot pull: ConnectError: [Errno -2] ...",
        "report": None,
    }  # fmt: skip
    screens.page.route("**/v1/store/jobs", lambda route: route.fulfill(json={"data": [job]}))
    screens.go("models")
    failed = row(screens, "echo-tts-base")
    expect(failed).to_contain_text("The server cannot reach the place that it fetches from.")
    expect(failed.get_by_text("ConnectError")).to_be_hidden()
    failed.get_by_text("Details").click()
    expect(failed.get_by_text("ConnectError")).to_be_visible()
    expect(screens.button("Try again: echo-tts-base")).to_be_visible()
    screens.button("Dismiss: echo-tts-base").click()
    expect(failed.locator(".job-failed")).to_have_count(0)


def test_status_shows_the_request_that_was_made_and_where_settings_come_from(
    screens: Screens,
) -> None:
    screens.go("speak").choose("builtin")
    screens.spoken("Count me.")
    screens.go("status")
    requests = screens.page.get_by_role("region", name="Last requests")
    expect(requests).to_contain_text("/v1/audio/speech")
    # Short to the eye, so that the row has room; whole for who copies it.
    identity = requests.get_by_role("button", name=re.compile("^Copy req_[0-9a-f]{24}$")).first
    expect(identity).to_have_text(re.compile("^req_[0-9a-f]{8}…$"))
    identity.click()
    expect(screens.page.get_by_text("Copied")).to_be_visible()
    settings = screens.page.get_by_role("region", name="Settings")
    expect(settings).to_contain_text("flag")
    expect(settings).to_contain_text("default")


def test_status_lists_the_models_that_are_here_and_not_its_own_looking(screens: Screens) -> None:
    screens.go("status")
    models = screens.page.get_by_role("region", name="Models")
    expect(models).to_contain_text("builtin")
    expect(models).not_to_contain_text("not here")
    expect(models).not_to_contain_text("echo-tts-base")
    expect(screens.page.locator(".tile").first.locator(".value")).to_have_text("0")
