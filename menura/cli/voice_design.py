"""The work of `menura voices design`: takes are drawn from a description, and one is kept.

The kept take is the voice's recording, so it stays the same voice in every sentence of a book.
"""

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from menura import api
from menura.api import TTS
from menura.audio.decode import decode
from menura.catalogue import DESIGN, known_models
from menura.cli.asking import answer_to, can_ask, number_to
from menura.cli.loudspeaker import Loudspeaker
from menura.cli.new_voice_flags import DesignFlags
from menura.cli.terminal import accent, dim, note, visible
from menura.cli.voice_choice import models_here
from menura.cli.voice_keeping import language_of
from menura.cli.voice_making import check_label, keep
from menura.errors import InvalidValueError, ModelNotFoundError
from menura.voice_library.from_models import drawn
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.new_voice import NewVoice

_MOST_TAKES = 9
_SEEDS = 2**53  # every reader of JSON keeps those below whole


def design(flags: DesignFlags) -> None:
    """Nothing; the take that was chosen is a voice in the library.

    Raises: InvalidValueError: the name is taken, no description, or several takes and nobody to
        choose; ModelNotFoundError: no model here makes voices from words; as `api.load`.
    """
    library = VoiceLibrary()
    check_label(library, flags.label)
    _check(flags)
    description = flags.describe or answer_to("Who speaks? Age, tone, pace, mood ...")
    if not description.strip():
        raise InvalidValueError(
            "say who speaks, in words, with --describe TEXT.", param="--describe"
        )
    tts = api.load(flags.model or _designer())
    seed = secrets.randbelow(_SEEDS) if flags.seed is None else flags.seed
    numbers = range(1, flags.takes + 1) if flags.keep is None else [flags.keep]
    takes = [_take(tts, flags, description, (seed + number - 1) % 2**63) for number in numbers]
    keep(library, takes[0] if len(takes) == 1 else _chosen(takes, flags), flags)


def _take(tts: TTS, flags: DesignFlags, description: str, seed: int) -> NewVoice:
    language = language_of(flags.language)
    return drawn(tts, description, flags.label, text=flags.say, language=language, seed=seed)


def _chosen(takes: Sequence[NewVoice], flags: DesignFlags) -> NewVoice:
    """The take that the person keeps, after they could hear all of them."""
    with _as_files(takes) as paths:
        for number, (take, path) in enumerate(zip(takes, paths, strict=True), start=1):
            told = f"{take.clips[0].seconds:.1f} s, seed {take.source.seed}"
            name = accent(f"take {number}", "stderr")
            note(f"{name}  {told}  {dim(visible(str(path)), 'stderr')}")
            if flags.play:
                _play(take)
        return takes[number_to("Which one do you keep?", len(takes)) - 1]


@contextmanager
def _as_files(takes: Sequence[NewVoice]) -> Iterator[list[Path]]:
    """A file for each take, to be heard in any player; they are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="menura-takes-") as folder:
        paths = [Path(folder) / f"take-{number}.flac" for number in range(1, len(takes) + 1)]
        for take, path in zip(takes, paths, strict=True):
            path.write_bytes(take.clips[0].flac)
        yield paths


def _play(take: NewVoice) -> None:
    heard = decode(take.clips[0].flac)
    with Loudspeaker(heard.sample_rate_hz) as loudspeaker:
        loudspeaker.write(heard.samples)


def _check(flags: DesignFlags) -> None:
    """Nothing, or InvalidValueError where a take could not be chosen."""
    if not 1 <= flags.takes <= _MOST_TAKES:
        raise InvalidValueError(
            f"--takes {flags.takes} is not allowed: it must be from 1 to {_MOST_TAKES}.",
            param="--takes",
        )
    if flags.keep is not None and not 1 <= flags.keep <= _MOST_TAKES:
        raise InvalidValueError(
            f"--keep {flags.keep} is not allowed: it must be from 1 to {_MOST_TAKES}.",
            param="--keep",
        )
    if can_ask(flags):
        return
    if flags.keep is None and flags.takes > 1:
        raise InvalidValueError(
            "nobody is here to choose a take: say which with --keep N, or --takes 1.",
            param="--keep",
        )
    if not flags.describe:
        raise InvalidValueError("say who speaks with --describe TEXT.", param="--describe")


def _designer() -> str:
    """The first model on this machine that makes voices from words."""
    for known in models_here():
        if DESIGN in known.capabilities:
            return known.name
    first = next(known.name for known in known_models() if DESIGN in known.capabilities)
    raise ModelNotFoundError(
        f"no model on this machine makes voices from words. Bring one with: menura models pull "
        f"{first}",
        param="--model",
    )
