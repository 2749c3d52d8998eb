"""The page for everybody: axe finds nothing grave, a phone shows all of it, keys are enough."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.screens import ALL, PHONE, Screens, opened
from tests.serving_process import Told

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

GRAVE = ("serious", "critical")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", ALL)
def test_axe_finds_nothing_grave(browser: "Browser", server: Told, place: str, theme: str) -> None:
    with opened(browser, server.address, color_scheme=theme, bypass_csp=True) as screens:
        screens.drawn(place)
        assert grave(screens.page) == []


def test_axe_finds_nothing_grave_in_a_take(browser: "Browser", server: Told) -> None:
    with opened(browser, server.address, bypass_csp=True) as screens:
        screens.go("speak").choose("tone")
        screens.spoken("one. " * 60)
        assert grave(screens.page) == []


@pytest.mark.parametrize("place", ALL)
def test_nothing_is_wider_than_a_phone(narrow: Screens, place: str) -> None:
    narrow.drawn(place)
    assert narrow.sideways() <= 0


@pytest.mark.parametrize("viewport", [PHONE, {"width": 1440, "height": 900}])
def test_the_button_and_the_result_need_no_scrolling(
    browser: "Browser", server: Told, viewport: dict[str, int]
) -> None:
    with opened(browser, server.address, viewport=viewport) as screens:
        screens.go("speak").choose("builtin")
        screens.page.evaluate("scrollTo(0, 0)")
        expect(screens.button("Speak")).to_be_in_viewport(ratio=1)
        screens.spoken("The lyrebird sings what it hears.")
        screens.page.evaluate("scrollTo(0, 0)")
        expect(screens.button("Speak")).to_be_in_viewport(ratio=1)
        expect(screens.page.locator("#play")).to_be_in_viewport(ratio=1)
        expect(screens.page.locator("#position")).to_be_in_viewport(ratio=1)


def test_a_text_is_spoken_with_the_keyboard_alone(screens: Screens) -> None:
    screens.go("speak").choose("builtin")
    keyboard = screens.page.keyboard
    tab_to(screens.page, "text")
    keyboard.type("Keys are enough.")
    keyboard.press("Control+Enter")
    screens.made()
    tab_to(screens.page, "position")
    before = screens.page.evaluate("window.menuraPlayer.position_s")
    screens.played()
    keyboard.press("Home")
    screens.until("window.menuraPlayer.position_s === 0")
    keyboard.press("End")
    screens.until("window.menuraPlayer.position_s > 0")
    assert before >= 0


def test_a_dialog_holds_the_focus_and_gives_it_back(screens: Screens) -> None:
    screens.go("speak").choose("builtin")
    screens.spoken("Hello.")
    opener = screens.page.locator("#copy-request")
    opener.focus()
    screens.page.keyboard.press("Enter")
    dialog = screens.page.get_by_role("dialog")
    expect(dialog).to_contain_text("/v1/audio/speech")
    screens.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(opener).to_be_focused()


def test_going_to_a_screen_moves_the_focus_to_its_heading(screens: Screens) -> None:
    screens.go("speak")
    screens.page.get_by_role("link", name="Status").focus()
    screens.page.keyboard.press("Enter")
    expect(screens.page.get_by_role("heading", level=1, name="Status")).to_be_focused()


def test_the_theme_stays_as_it_was_chosen(screens: Screens) -> None:
    switch = screens.go("speak").page.locator("#theme-switch")
    switch.click()
    switch.click()
    chosen = screens.page.evaluate("document.documentElement.dataset.theme")
    assert chosen == "dark"
    screens.page.reload()
    assert screens.page.evaluate("document.documentElement.dataset.theme") == chosen


def grave(page: "Page") -> list[str]:
    """What axe-core finds and calls serious or critical."""
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html']} {node['failureSummary']}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


def tab_to(page: "Page", element_id: str) -> None:
    """Presses Tab until the element has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == element_id:
            return
    raise AssertionError(f"Tab never reaches #{element_id}")


def test_at_twice_the_size_the_speak_button_is_whole(browser: "Browser", server: Told) -> None:
    with opened(browser, server.address, viewport={"width": 720, "height": 450}) as screens:
        screens.go("speak").choose("builtin")
        screens.page.locator("#panel-place > summary").click()
        screens.write("Hello.")
        is_seen = """() => {
          const box = document.getElementById("speak-button").getBoundingClientRect();
          const at = document.elementFromPoint(box.x + box.width / 2, box.bottom - 3);
          return Boolean(at?.closest("#speak-button"));
        }"""
        assert screens.page.evaluate(is_seen)
