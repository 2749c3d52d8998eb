"""What was made: kept in this browser by a policy that is shown, or not kept at all."""

import pytest
from playwright.sync_api import expect

from tests.browser.screens import Screens

pytestmark = pytest.mark.browser


@pytest.fixture
def two_takes(screens: Screens) -> Screens:
    """The history after two texts were spoken."""
    screens.go("speak").choose("builtin")
    for text in ("The lyrebird sings.", "The harbour is quiet."):
        screens.spoken(text)
    screens.go("history")
    expect(screens.page.locator("[data-take]")).to_have_count(2)
    return screens


def test_the_policy_is_shown(screens: Screens) -> None:
    expect(screens.go("history").page.locator("#screen")).to_contain_text("Kept in this browser")


def test_takes_are_found_by_their_words_and_played_again(two_takes: Screens) -> None:
    page = two_takes.page
    page.get_by_role("searchbox").fill("lyrebird")
    expect(page.locator("[data-take]")).to_have_count(1)
    before = page.evaluate("window.menuraPlayer.samplesPlayed")
    page.get_by_role("button", name="Play: The lyrebird sings.").click()
    two_takes.until(f"window.menuraPlayer.samplesPlayed > {before}")


def test_a_take_gives_its_text_and_settings_back(two_takes: Screens) -> None:
    page = two_takes.page
    page.locator("[data-take]").nth(1).get_by_role("button", name="Use text").click()
    expect(page.get_by_role("textbox", name="Text to speak")).to_have_value("The lyrebird sings.")
    expect(page.locator("#model")).to_have_value("builtin")


def test_nothing_is_kept_when_it_is_switched_off(screens: Screens) -> None:
    screens.go("history").page.get_by_label("Keep new takes").uncheck()
    screens.go("speak").choose("builtin")
    screens.spoken("Forget me.")
    screens.go("history")
    expect(screens.page.get_by_label("Keep new takes")).not_to_be_checked()
    expect(screens.page.locator("[data-take]")).to_have_count(0)


def test_all_takes_are_deleted_at_once(two_takes: Screens) -> None:
    two_takes.button("Delete all").click()
    two_takes.button("Delete them").click()
    expect(two_takes.page.locator("[data-take]")).to_have_count(0)
