"""What the built-in voice can read and say, from the tables of the installed library.

Only two small JSON files are read here; the library itself is imported when a voice is loaded.
"""

import functools
import importlib.util
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from menura.engines.contract import EngineSpec, PresetVoice
from menura.errors import EngineNotInstalledError, InvalidValueError
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


@dataclass(frozen=True)
class Voices:
    """The voices beside the packaged one that are on this machine, and which speaks by default."""

    files: Mapping[str, Path]
    default: str = DEFAULT_VOICE

    @classmethod
    def of(cls, extra: Mapping[str, object]) -> Self:
        """What the arguments `voice_files` and `default_voice` say.

        Raises: InvalidValueError: another argument, or one of another type.
        """
        for name in extra.keys() - {"voice_files", "default_voice"}:
            message = f"{name!r} is not an argument of the built-in voice."
            raise InvalidValueError(message, param=name)
        files = extra.get("voice_files", {})
        if not isinstance(files, Mapping):
            raise InvalidValueError("voice_files must map names to files.", param="voice_files")
        default = str(extra.get("default_voice", DEFAULT_VOICE))
        if default != DEFAULT_VOICE and default not in files:
            message = (
                f"the voice {default!r} is not on this machine; it has: heart {' '.join(files)}"
            )
            raise InvalidValueError(message, param="default_voice")
        paths = {str(name): Path(str(path)) for name, path in files.items()}
        return cls(paths, default)


def spec(here: Voices) -> EngineSpec:
    """The spec; voices that are not on this machine are listed with the command for them."""
    table = json.loads((package_folder() / "assets" / "voices.json").read_text("utf-8"))
    voices = tuple(
        PresetVoice(
            name=name,
            languages=("english",),
            description=f"{facts['accent']} English, {facts['gender']}",
            missing=""
            if facts.get("bundled") or name in here.files
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
        default_voice=here.default,
        options=GenerationOptions,
        alphabet=alphabet(),
        native_speed=(0.5, 2.0),
        licence="Apache-2.0",
    )
