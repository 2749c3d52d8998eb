"""What the user typed after the verbs of `menura voices` that make a voice.

One word everywhere: `--ref-text` is what is said in a recording, here as in `menura say`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from menura.cli.commands import JsonFlags, argument, flag

_NEW_NAME = "What you call the voice: any text of up to 80 characters."
_VOICE, _TEXT, _CHECKS, _TAKES = "Voice", "Recording and its text", "Checks", "Takes"


@dataclass(frozen=True, kw_only=True)
class NewVoiceFlags(JsonFlags):
    """After every verb that makes a voice."""

    label: Annotated[str, argument("NAME", help=_NEW_NAME)]
    language: Annotated[
        str | None,
        flag(
            "--language",
            "-l",
            metavar="LANGUAGE",
            help="What is spoken in it: english, en ...",
            under=_VOICE,
        ),
    ] = None
    notes: Annotated[
        str, flag("--notes", metavar="TEXT", help="Words of your own about it.", under=_VOICE)
    ] = ""


@dataclass(frozen=True, kw_only=True)
class RecordingFlags(NewVoiceFlags):
    """After the verbs that make a voice of a recording."""

    consent: Annotated[
        str | None,
        flag(
            "--consent",
            metavar="TEXT",
            help="Who speaks, and what they agreed to. Asked for where there is a person to ask.",
            under=_VOICE,
        ),
    ] = None
    ref_text: Annotated[
        str | None,
        flag("--ref-text", metavar="TEXT", help="What is said in the recording.", under=_TEXT),
    ] = None
    default_model: Annotated[
        str | None,
        flag(
            "--default-model",
            metavar="MODEL",
            help="The model that menura say takes for it where --model is not given.",
            under=_VOICE,
        ),
    ] = None
    trim: Annotated[
        bool,
        flag(
            "--trim/--no-trim",
            help="Cut long silence at both ends, or keep the recording as it is.",
            under=_CHECKS,
        ),
    ] = True
    anyway: Annotated[
        bool,
        flag(
            "--anyway", help="Keep it although its text seems to be another one's.", under=_CHECKS
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class AddFlags(RecordingFlags):
    """After `menura voices add`."""

    file: Annotated[
        Path | None,
        argument("FILE", help="The recording: wav, mp3, m4a, a video ...; 5 to 15 s are best."),
    ] = None
    ref_text_file: Annotated[
        Path | None,
        flag(
            "--ref-text-file", metavar="FILE", help="The same, from a UTF-8 text file.", under=_TEXT
        ),
    ] = None
    transcribe: Annotated[
        bool,
        flag(
            "--transcribe",
            help="Write down what is said by speech recognition (the extra asr).",
            under=_TEXT,
        ),
    ] = False
    preset: Annotated[
        str | None,
        flag(
            "--preset",
            metavar="VOICE",
            help="No recording: keep this voice of --model under a name of yours.",
            under=_VOICE,
        ),
    ] = None
    model: Annotated[
        str | None,
        flag("--model", "-m", metavar="MODEL", help="The model of --preset.", under=_VOICE),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RecordFlags(RecordingFlags):
    """After `menura voices record`."""

    seconds: Annotated[
        float | None,
        flag(
            "--seconds",
            "-s",
            metavar="N",
            help="Record for so long. Default: until Enter is pressed.",
            under=_TEXT,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class DesignFlags(NewVoiceFlags):
    """After `menura voices design`."""

    describe: Annotated[
        str | None,
        flag(
            "--describe",
            "-d",
            metavar="TEXT",
            help="Who speaks, in words: age, tone, pace, mood ...",
            under=_VOICE,
        ),
    ] = None
    model: Annotated[
        str | None,
        flag(
            "--model",
            "-m",
            metavar="MODEL",
            help="A model that makes voices from words. Default: the one on this machine.",
            under=_VOICE,
        ),
    ] = None
    say: Annotated[
        str | None,
        flag(
            "--say",
            metavar="TEXT",
            help="What the takes say. Default: a few sentences of the language.",
            under=_TAKES,
        ),
    ] = None
    takes: Annotated[
        int, flag("--takes", metavar="N", help="How many to choose from: 1 to 9.", under=_TAKES)
    ] = 3
    keep: Annotated[
        int | None,
        flag(
            "--keep",
            metavar="N",
            help="Keep take N without a question; no other is made.",
            under=_TAKES,
        ),
    ] = None
    seed: Annotated[
        int | None,
        flag(
            "--seed",
            metavar="N",
            help="Same seed, same takes. Default: drawn, and told.",
            under=_TAKES,
        ),
    ] = None
    play: Annotated[bool, flag("--play", help="Play each take (the extra play).", under=_TAKES)] = (
        False
    )
