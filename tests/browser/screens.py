"""The page as a person uses it: its screens, and what can be done there, by the words on them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.chromium import Watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

LIMIT_MS = 60_000  # of what takes one or two seconds, on a machine that does much else
PHONE = {"width": 390, "height": 844}
ALL = ("speak", "voices", "voices/add", "voices/design", "models", "history", "status")
"""Every place of the page, as its address has it."""
DRAWN = {
    "speak": "#model option",
    "voices": ".voices-body > *",
    "voices/add": ".voice-form",
    "voices/design": ".voice-form",
    "models": ".model-row",
    "history": "#takes > *",
    "status": ".tile",
}
"""What a place has once all that the server said stands on it."""

_UNTIL = """async (limit) => {
  const end = performance.now() + limit;
  while (!(CONDITION)) {
    if (performance.now() > end) throw new Error("it never came: CONDITION");
    await new Promise(requestAnimationFrame);
  }
}"""


class Screens:
    """One page of one person."""

    def __init__(self, page: "Page", address: str, watch: Watch) -> None:
        self.page = page
        self.address = address
        self.watch = watch

    def go(self, place: str) -> "Screens":
        """The page at a place such as `voices/add`, when its heading is there."""
        self.page.goto(f"{self.address}/#/{place}")
        self.page.locator("#screen h1").first.wait_for(state="attached")
        return self

    def drawn(self, place: str) -> "Screens":
        """The same, when all that the server said stands there too."""
        self.go(place).page.locator(DRAWN[place]).first.wait_for(state="attached")
        return self

    def choose(self, model: str, voice: str | None = None) -> None:
        """On Speak: this model, and this voice of it."""
        self.page.locator("#model").wait_for(state="attached")
        if not self.page.locator("#model").is_visible():
            self.page.locator("#panel-place > summary").click()
        self.page.locator("#model").select_option(model)
        if voice is not None:
            self.page.locator("#voice").select_option(label=voice)

    def write(self, text: str) -> None:
        """On Speak: the text to speak."""
        self.page.get_by_role("textbox", name="Text to speak").fill(text)

    def speak(self, text: str) -> None:
        """On Speak: the text is spoken from here on."""
        self.write(text)
        self.button("Speak").click()

    def spoken(self, text: str) -> None:
        """On Speak: the text, spoken to its end and kept as a take."""
        self.speak(text)
        self.made()

    def made(self, limit_ms: int = LIMIT_MS) -> None:
        """When what is being spoken has come whole."""
        self.until("window.menura.take() && !window.menura.studio.live", limit_ms)

    def played(self) -> None:
        """When what plays has been heard to its end."""
        self.until("window.menuraPlayer.state === 'ended'")

    def until(self, condition: str, limit_ms: int = LIMIT_MS) -> None:
        """When a condition in JavaScript holds; the page's policy forbids `wait_for_function`."""
        self.page.evaluate(_UNTIL.replace("CONDITION", condition), limit_ms)

    def button(self, name: str) -> "Locator":
        """A button by the whole of its name."""
        return self.page.get_by_role("button", name=name, exact=True)

    def alert(self) -> "Locator":
        """The error that is shown."""
        return self.page.get_by_role("alert").filter(visible=True)

    def take_length(self) -> int:
        """How many samples the take has that is shown."""
        length: int = self.page.evaluate("window.menura.take().samples.length")
        return length

    def card(self, label: str) -> "Locator":
        """On Voices: the card of a voice."""
        return self.page.get_by_role("article", name=label, exact=True)

    def recorded(self, seconds: int) -> None:
        """On Add a voice: when the microphone was heard for so many seconds, below ten, or more."""
        shown = "document.querySelector('.recording output')?.value"
        self.until(f"{shown} >= '0:0{seconds}'")

    def give_recording(self, recording: Path) -> None:
        """On Add a voice: the file, once it was checked."""
        self.page.locator("input[data-role=clip]").set_input_files(recording)
        self.page.locator(".figures").wait_for()

    def keep_voice(self, label: str, transcript: str = "") -> None:
        """On Add a voice: what was checked is kept, as the person's own voice."""
        self.page.get_by_label("Name", exact=True).fill(label)
        if transcript:
            self.page.get_by_label("What is said in the recording").fill(transcript)
        self.page.get_by_label("My own").check()
        self.button("Save the voice").click()
        self.card(label).wait_for()

    def add_voice(self, recording: Path, label: str, transcript: str = "") -> None:
        """A voice made from a file, from anywhere; the page is then at Voices."""
        self.go("voices/add")
        self.give_recording(recording)
        self.keep_voice(label, transcript)

    def sideways(self) -> int:
        """By how many pixels the page is wider than its window."""
        wider: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wider


@contextmanager
def opened(browser: "Browser", address: str, **options: object) -> Iterator[Screens]:
    """A page of its own in a new profile: English and 1440 px wide unless the options say else.

    At the end no error may be in its console, and no request may have left the machine.
    """
    wanted = {"locale": "en-US", "viewport": {"width": 1440, "height": 900}, **options}
    context = browser.new_context(**wanted)
    context.set_default_timeout(LIMIT_MS)
    watch = Watch(address)
    try:
        yield Screens(watch.over(context.new_page()), address, watch)
    finally:
        context.close()
    if watch.faults:
        raise AssertionError(f"the page did what it must not: {watch.faults}")


def number_in(text: str) -> float:
    """The first number in a text."""
    found = re.search(r"\d+(\.\d+)?", text)
    assert found is not None, text
    return float(found.group())
