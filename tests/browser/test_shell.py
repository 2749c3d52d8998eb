"""The page as a whole: it loads clean and light, in two languages, and behind a key."""

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.screens import ALL, Screens, opened
from tests.serving_process import Told

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

FIRST_PAINT_BYTES = 100_000
LATIN = re.compile(r"[A-Za-z]{3,}")
# Words that are the same in every language: names, units and what the server calls things.
SAME = re.compile(
    r"Menura|English|Ctrl|builtin|tiny|base|design|tone|heart|low|high|WAV|FLAC|MP3|M4A|Qwen3-TTS|VoiceDesign"
)

# A model's options, names, and what is said about a voice come from the server, in English.
_WITHOUT_THE_SERVERS_WORDS = """() => {
  for (const node of document.querySelectorAll(".options, #voice-about, select")) node.remove();
}"""


@pytest.mark.parametrize("place", ALL)
def test_every_screen_loads_without_an_error(screens: Screens, place: str) -> None:
    screens.drawn(place)
    assert screens.watch.refused == 0


def test_the_first_paint_is_light(browser: "Browser", server: Told) -> None:
    """The page's own files, as they travel; what it asks the server for grows with the library."""
    with opened(browser, server.address) as screens:
        lines = screens.page.context.new_cdp_session(screens.page)
        addresses: dict[str, str] = {}
        sizes: dict[str, int] = {}
        lines.on(
            "Network.responseReceived",
            lambda event: addresses.update({event["requestId"]: event["response"]["url"]}),
        )
        lines.on(
            "Network.loadingFinished",
            lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
        )
        lines.send("Network.enable")
        screens.go("speak").choose("builtin")
        files = [size for one, size in sizes.items() if "/v1/" not in addresses[one]]
        print(f"first paint: {len(files)} files, {sum(files) / 1000:.0f} kB")  # noqa: T201
        assert 10_000 < sum(files) < FIRST_PAINT_BYTES


def test_an_unknown_address_leads_to_speak(screens: Screens) -> None:
    screens.page.goto(f"{screens.address}/#/nowhere")
    expect(screens.button("Speak")).to_be_visible()


def test_the_page_speaks_chinese_to_a_chinese_browser(browser: "Browser", server: Told) -> None:
    with opened(browser, server.address, locale="zh-CN") as screens:
        screens.go("speak")
        expect(screens.page.locator("html")).to_have_attribute("lang", "zh-Hans")
        expect(screens.page.get_by_role("button", name="朗读", exact=True)).to_be_visible()
        expect(screens.page.get_by_role("textbox").first).to_be_visible()


@pytest.mark.parametrize("place", ["speak", "voices/add", "voices/design", "history"])
def test_no_english_is_left_on_a_chinese_screen(
    browser: "Browser", server: Told, place: str
) -> None:
    with opened(browser, server.address, locale="zh-CN") as screens:
        screens.drawn(place)
        screens.page.evaluate(_WITHOUT_THE_SERVERS_WORDS)
        text = screens.page.locator("#screen").inner_text()
        assert LATIN.findall(SAME.sub("", text)) == []


def test_the_language_is_switched_and_kept(screens: Screens) -> None:
    screens.go("voices")
    screens.button("中文").click()
    expect(screens.page.get_by_role("heading", level=1)).to_have_text("声音")
    screens.page.reload()
    expect(screens.page.get_by_role("heading", level=1)).to_have_text("声音")
    screens.button("English").click()
    expect(screens.page.get_by_role("heading", level=1)).to_have_text("Voices")


def test_without_a_key_nothing_is_shown(browser: "Browser", keyed: Told) -> None:
    with opened(browser, keyed.address) as screens:
        for place in ALL:
            screens.go(place)
            expect(screens.page.get_by_label("Key", exact=True)).to_be_visible()
            assert screens.page.get_by_role("navigation").count() == 0
            assert screens.page.get_by_role("button", name="Speak", exact=True).count() == 0


def test_a_wrong_key_is_refused_in_words(browser: "Browser", keyed: Told) -> None:
    with opened(browser, keyed.address) as screens:
        screens.go("speak").page.get_by_label("Key", exact=True).fill("menura_wrong")
        screens.button("Sign in").click()
        expect(screens.alert()).to_contain_text("key")


def test_the_sign_in_page_speaks_other_languages_too(browser: "Browser", keyed: Told) -> None:
    with opened(browser, keyed.address) as screens:
        screens.go("speak").button("中文").click()
        expect(screens.page.get_by_role("heading", level=1)).to_have_text("登录")


def test_a_screen_whose_files_do_not_come_says_so_and_is_tried_again(screens: Screens) -> None:
    screens.go("speak")
    screens.page.route("**/models.js", lambda route: route.abort())
    screens.page.get_by_role("link", name="Models").click()
    expect(screens.alert()).to_contain_text("The server does not answer.")
    screens.page.unroute("**/models.js")
    screens.button("Try again").click()
    expect(screens.page.get_by_role("heading", name="Models")).to_be_visible()


def test_the_next_person_does_not_see_what_the_last_one_wrote_and_made(
    browser: "Browser", keyed: Told
) -> None:
    with opened(browser, keyed.address) as screens:
        page = screens.go("speak").page
        page.evaluate("""() => {
          localStorage.setItem("menura.draft@someone else", "Not for you.");
        }""")
        page.get_by_label("Key", exact=True).fill(keyed.key)
        screens.button("Sign in").click()
        screens.spoken("For me alone.")
        label = page.evaluate("fetch('/session').then((answer) => answer.json())")["label"]
        assert page.evaluate(f"localStorage.getItem('menura.draft@{label}')") == "For me alone."
        assert page.evaluate("localStorage.getItem('menura.draft')") is None


def test_a_key_that_may_only_speak_meets_no_dead_ends(browser: "Browser", keyed: Told) -> None:
    with opened(browser, keyed.address) as screens:
        page = screens.page
        session = {"signed_in": True, "scopes": ["speak"], "label": "reader"}
        page.route("**/session", lambda route: route.fulfill(json=session))
        page.context.set_extra_http_headers({"authorization": f"Bearer {keyed.key}"})
        screens.go("voices/add")
        expect(page.get_by_text("Whoever runs this server can add voices.")).to_be_visible()
        assert screens.button("Add a voice").count() == 0
        screens.go("status")
        expect(page.get_by_text("Your key does not open that screen.")).to_be_visible()
        screens.go("speak")
        page.locator("#model option").first.wait_for(state="attached")
        assert page.locator("#model optgroup").count() == 0


def test_a_key_for_the_administration_alone_is_offered_what_it_opens(
    browser: "Browser", keyed: Told
) -> None:
    with opened(browser, keyed.address) as screens:
        session = {"signed_in": True, "scopes": ["admin"], "label": "keeper"}
        screens.page.route("**/session", lambda route: route.fulfill(json=session))
        screens.page.context.set_extra_http_headers({"authorization": f"Bearer {keyed.key}"})
        screens.go("status")
        names = screens.page.get_by_role("navigation").get_by_role("link").all_inner_texts()
        assert names == ["History", "Status"]


def test_who_signs_out_while_speaking_leaves_nothing(browser: "Browser", keyed: Told) -> None:
    with opened(browser, keyed.address) as screens:
        screens.go("speak").page.get_by_label("Key", exact=True).fill(keyed.key)
        screens.button("Sign in").click()
        screens.speak("Nobody else may hear this. " * 100)
        screens.until("window.menuraPlayer.samplesPlayed > 0")
        screens.button("Sign out").click()
        screens.page.get_by_label("Key", exact=True).wait_for()
        screens.until("window.menura.studio.live === null")
        assert screens.page.evaluate("window.menura.take()") is None
        assert screens.page.evaluate("window.menuraPlayer.duration_s") == 0


def test_a_person_signs_in_speaks_and_signs_out(browser: "Browser", keyed: Told) -> None:
    with opened(browser, keyed.address) as screens:
        screens.go("speak").page.get_by_label("Key", exact=True).fill(keyed.key)
        screens.button("Sign in").click()
        screens.spoken("Let me in.")
        assert screens.take_length() > 0
        assert keyed.key not in str(screens.page.evaluate("JSON.stringify({...localStorage})"))
        screens.page.reload()
        expect(screens.button("Speak")).to_be_visible()
        screens.button("Sign out").click()
        expect(screens.page.get_by_label("Key", exact=True)).to_be_visible()


def test_a_browser_that_remembers_nothing_shows_the_page_all_the_same(screens: Screens) -> None:
    screens.page.add_init_script("""
      Object.defineProperty(window, "localStorage", { get() { throw new Error("denied"); } });
    """)
    screens.go("speak").choose("builtin")
    screens.spoken("Hello.")
    assert screens.take_length() > 0
