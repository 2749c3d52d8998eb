"""What the built-in voice can read and say, from the tables of the installed library.

Only two small JSON files are read here; the library itself is imported when a voice is loaded.
"""

import functools
import importlib.util
import json
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from menura.engines.contract import EngineSpec, PresetVoice
from menura.errors import EngineNotInstalledError
from menura.options import Options, option

SAMPLE_RATE_HZ = 24_000
DEFAULT_VOICE = "heart"
# Letters that English texts use as signs, and that the library reads by name or in a unit.
_SIGNS = frozenset("µμΩπΔªº")


@dataclass(frozen=True)
class GenerationOptions(Options):
    """The options of the built-in voice."""

    inline_phonemes: bool = option(
        False, help="Read [word](/phonemes/) as the pronunciation of a word, not as plain text."
    )


def package_folder() -> Path:
    """The folder of the installed library. Raises: EngineNotInstalledError."""
    found = importlib.util.find_spec("hibari")
    if found is None or found.origin is None:
        raise EngineNotInstalledError(
            "the built-in voice needs the package hibari-tts, which is not installed. "
            "Install it with: pip install hibari-tts==0.2.1"
        )
    return Path(found.origin).parent


@functools.cache
def alphabet() -> frozenset[str]:
    """The letters that the library reads: the Latin ones of its table, and a few signs."""
    table = json.loads((package_folder() / "assets" / "oov.json").read_text("utf-8"))
    latin = {letter for letter in table["in"] if "LATIN" in unicodedata.name(letter, "")}
    return frozenset(latin) | _SIGNS


def spec(voice_files: dict[str, Path]) -> EngineSpec:
    """The spec, with the voices that are on this machine: the packaged one and `voice_files`."""
    table = json.loads((package_folder() / "assets" / "voices.json").read_text("utf-8"))
    voices = tuple(
        PresetVoice(
            name=name,
            languages=("english",),
            description=f"{facts['accent']} English, {facts['gender']}",
            missing=""
            if facts.get("bundled") or name in voice_files
            else f"bring it with: menura models pull builtin-{name}",
        )
        for name, facts in table.items()
    )
    return EngineSpec(
        engine="builtin",
        model="builtin",
        variant="hibari",
        sample_rate_hz=SAMPLE_RATE_HZ,
        frame_rate_hz=None,
        languages=("english",),
        voices=voices,
        default_voice=DEFAULT_VOICE,
        options=GenerationOptions,
        alphabet=alphabet(),
        native_speed=(0.5, 2.0),
        licence="Apache-2.0",
    )
