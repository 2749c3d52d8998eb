"""Pictures of every screen: wide and narrow, light and dark, some in Chinese.

`make screenshots` writes them into a folder, to be looked at. Each is named
`screen.width.theme.png`, those in Chinese `screen.width.theme.zh.png`.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from menura.engines.qwen3_tts import tiny
from tests.browser import chromium, clips
from tests.browser.screens import Screens, opened
from tests.serving_process import Told, serving, tone_model

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZES = {"1440": {"width": 1440, "height": 900}, "390": {"width": 390, "height": 844}}
THEMES = ("light", "dark")
TEXT = (
    "The lyrebird copies what it hears: a camera, a chainsaw, another bird. "
    "It keeps the song for years, and nobody taught it how."
)


@dataclass(frozen=True)
class Look:
    """How a picture is taken: how wide, in which theme and language."""

    width: str
    theme: str
    language: str = "en-US"

    @property
    def name(self) -> str:
        return f"{self.width}.{self.theme}{'.zh' if self.language.startswith('zh') else ''}"


@dataclass(frozen=True)
class Recordings:
    """The clips that the screen of a new voice is shown with."""

    good: Path
    clipped: Path


Scene = Callable[[Screens, Recordings], None]


def scenes() -> Mapping[str, Scene]:
    """What is shown, by name: each brings a fresh page to where the picture is taken."""
    return {
        "speak": lambda screens, _: _speak(screens),
        "speak-options": lambda screens, _: _options(screens),
        "take": lambda screens, _: _take(screens),
        "voices": lambda screens, _: _go(screens, "voices"),
        "voice-edit": lambda screens, _: _edit(screens),
        "add": lambda screens, _: _go(screens, "voices/add"),
        "add-record": lambda screens, _: _record(screens),
        "add-good": lambda screens, clip: _check(screens, clip.good),
        "add-consent": lambda screens, clip: _consent(screens, clip.good),
        "add-clipped": lambda screens, clip: _check(screens, clip.clipped),
        "design": lambda screens, _: _go(screens, "voices/design"),
        "models": lambda screens, _: _go(screens, "models"),
        "history": lambda screens, _: _history(screens),
        "status": lambda screens, _: _go(screens, "status"),
    }


def _go(screens: Screens, place: str) -> None:
    screens.go(place)
    screens.page.wait_for_load_state("networkidle")


def _speak(screens: Screens) -> None:
    screens.go("speak").page.locator("#model").wait_for(state="attached")
    screens.page.locator("#text").fill(TEXT)
    screens.page.wait_for_load_state("networkidle")


def _options(screens: Screens) -> None:
    _speak(screens)
    screens.choose("tiny-base")
    screens.page.locator(".more > summary").click()
    screens.page.wait_for_load_state("networkidle")


def _take(screens: Screens) -> None:
    _speak(screens)
    screens.page.locator("#speak-button").click()
    screens.made()
    screens.until("window.menuraPlayer.position_s > 2")
    screens.page.locator("#play").click()


def _history(screens: Screens) -> None:
    _take(screens)
    screens.go("history")


def _edit(screens: Screens) -> None:
    _go(screens, "voices")
    screens.page.locator(".deeds button").first.click()
    screens.page.get_by_role("dialog").wait_for()


def _record(screens: Screens) -> None:
    screens.go("voices/add")
    screens.page.locator(".clip-source button").nth(1).click()
    screens.until("document.querySelector('meter')?.value > 0.1")


def _check(screens: Screens, clip: Path) -> None:
    screens.go("voices/add").give_recording(clip)
    screens.page.locator("input[type=radio]").first.check()


def _consent(screens: Screens, clip: Path) -> None:
    _check(screens, clip)
    screens.page.locator("input[type=radio]").last.check()


def take(folder: Path) -> int:
    """How many pictures were written into the folder."""
    looks = [Look(width, theme) for width in SIZES for theme in THEMES]
    looks += [Look("1440", "light", "zh-CN"), Look("390", "dark", "zh-CN")]
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    with _clips() as clip, _server(clip) as told, chromium.started(clip.good) as browser:
        for look in looks:
            for name, scene in scenes().items():
                path = folder / f"{name}.{look.name}.png"
                _picture(browser, told, look, path, partial(_brought, scene, clip))
                count += 1
    return count


def _brought(scene: Scene, clip: Recordings, screens: Screens) -> None:
    scene(screens, clip)


def _picture(
    browser: "Browser", told: Told, look: Look, path: Path, bring: Callable[[Screens], None]
) -> None:
    """One picture, as tall as the screen's whole content."""
    size = SIZES[look.width]
    options = {"viewport": size, "color_scheme": look.theme, "locale": look.language}
    with opened(browser, told.address, **options) as screens:
        bring(screens)
        tall = screens.page.evaluate("document.documentElement.scrollHeight")
        screens.page.set_viewport_size({**size, "height": max(size["height"], min(tall, 4000))})
        screens.page.screenshot(path=path)


@contextmanager
def _clips() -> Iterator[Recordings]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        good, clipped = folder / "anna.wav", folder / "clipped.wav"
        yield Recordings(clips.spoken(good), clips.clipped(clipped))


@contextmanager
def _server(clip: Recordings) -> Iterator[Told]:
    """A server with three voices, one broken folder, and models of each kind."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        models = (
            "builtin",
            tiny.write(folder / "tiny-base"),
            tiny.write(folder / "tiny-design", tiny.Tiny("voice_design")),
            tone_model(folder / "tone"),
        )
        flags = [flag for model in models for flag in ("--model", model)]
        broken = folder / "home" / "data" / "voices" / "uncle"
        broken.mkdir(parents=True)
        (broken / "voice.json").write_text("{}")
        with serving(folder / "home", "--no-key", "--precision", "exact", *flags) as told:
            _fill(told, clip.good)
            yield told


def _fill(told: Told, recording: Path) -> None:
    voices = (
        ("Anna", clips.SENTENCE, "english", ""),
        ("祖母的声音", "", "chinese", "Recorded in the kitchen, spring 2026."),
        ("Old harbour master", clips.SENTENCE, "english", ""),
    )
    with httpx.Client(base_url=told.address, timeout=60) as client:
        for name, transcript, language, notes in voices:
            given = {"name": name, "transcript": transcript, "language": language, "notes": notes}
            fields = {key: value for key, value in given.items() if value}
            answer = client.post(
                "/v1/audio/voices",
                data={**fields, "consent_text": "This is my own voice."},
                files={"audio_sample": recording.open("rb")},
            )
            answer.raise_for_status()


def main(arguments: list[str]) -> int:
    """The exit code, after the pictures were written into the folder that is named."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tests.browser.screenshots FOLDER\n")
        return 2
    if chromium.executable() is None:
        sys.stderr.write("There is no Chromium here: apt-get install chromium\n")
        return 1
    count = take(Path(arguments[0]))
    sys.stdout.write(f"{count} pictures in {arguments[0]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
