"""What the user typed after the verbs of `menura voices` that show, change and carry voices."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from menura.cli.commands import JsonFlags, argument, flag
from menura.cli.voice_names import names_in_library

_MODEL = "Name, hub id or folder of a model."
_VOICE, _FILLED_IN = "Voice", "What a request is filled in with"


@dataclass(frozen=True)
class ListFlags(JsonFlags):
    """After `menura voices list`."""

    model: Annotated[
        str | None,
        flag(
            "--model",
            "-m",
            metavar="MODEL",
            help=f"{_MODEL} Shows its own voices, and which of yours it can use.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class OneVoice(JsonFlags):
    """After a verb that takes one voice of the library."""

    name: Annotated[
        str,
        argument(
            "NAME",
            help="A voice of yours: its name, or its id, as menura voices lists them.",
            completion=names_in_library,
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class EditFlags(OneVoice):
    """After `menura voices edit`; an empty text takes away what was there, but for consents."""

    label: Annotated[
        str | None, flag("--label", metavar="NAME", help="A new name.", under=_VOICE)
    ] = None
    language: Annotated[
        str | None,
        flag("--language", "-l", metavar="LANGUAGE", help="What is spoken in it.", under=_VOICE),
    ] = None
    notes: Annotated[
        str | None, flag("--notes", metavar="TEXT", help="Words about it.", under=_VOICE)
    ] = None
    ref_text: Annotated[
        str | None,
        flag("--ref-text", metavar="TEXT", help="What is said in the recording.", under=_VOICE),
    ] = None
    consent: Annotated[
        str | None,
        flag("--consent", metavar="TEXT", help="What its speaker agreed to.", under=_VOICE),
    ] = None
    default_model: Annotated[
        str | None,
        flag(
            "--default-model",
            metavar="MODEL",
            help="The model that menura say takes for it where --model is not given.",
            under=_FILLED_IN,
        ),
    ] = None
    instruct: Annotated[
        str | None,
        flag(
            "--instruct",
            metavar="TEXT",
            help="How it speaks, for models that follow words.",
            under=_FILLED_IN,
        ),
    ] = None
    speed: Annotated[
        float | None,
        flag(
            "--speed",
            metavar="X",
            help="Its own pace, from 0.25 to 4.",
            under=_FILLED_IN,
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        flag(
            "--option",
            "-p",
            metavar="NAME=VALUE",
            help="An option of the engine, NAME= to take it away; may be repeated.",
            under=_FILLED_IN,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RemoveFlags(OneVoice):
    """After `menura voices remove`."""

    yes: Annotated[bool, flag("--yes", "-y", help="Remove without asking.")] = False


@dataclass(frozen=True, kw_only=True)
class ExportFlags(OneVoice):
    """After `menura voices export`."""

    output: Annotated[
        str | None,
        flag("--output", "-o", metavar="FILE", help="The file; - is stdout. Default: by its name."),
    ] = None
    prompts: Annotated[
        bool,
        flag(
            "--prompts/--no-prompts",
            help="With what models made of the recording, or with the recording alone.",
        ),
    ] = True
    force: Annotated[bool, flag("--force", help="Write over an existing file.")] = False


@dataclass(frozen=True, kw_only=True)
class ImportFlags(JsonFlags):
    """After `menura voices import`."""

    path: Annotated[
        Path,
        argument(
            "PATH",
            help="A .voice.zip, a folder of recordings, a .safetensors, a .pt, or - for a pipe.",
        ),
    ]
    label: Annotated[
        str | None, flag("--label", metavar="NAME", help="Its name here, where it is one voice.")
    ] = None
    model: Annotated[
        str | None, flag("--model", "-m", metavar="MODEL", help="The model that a .pt was made by.")
    ] = None
    consent: Annotated[
        str | None,
        flag(
            "--consent",
            metavar="TEXT",
            help="Who speaks and what they agreed to, where the file does not say.",
        ),
    ] = None
    anyway: Annotated[
        bool,
        flag("--anyway", help="Keep recordings although their texts seem to be others'."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class FitFlags(OneVoice):
    """After `menura voices fit`."""

    model: Annotated[
        str | None,
        flag("--model", "-m", metavar="MODEL", help=f"{_MODEL} Default: all on this machine."),
    ] = None
    all: Annotated[
        bool, flag("--all", help="The known models that are not on this machine, too.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class PreviewFlags(OneVoice):
    """After `menura voices preview`."""

    output: Annotated[
        str | None,
        flag("--output", "-o", metavar="FILE", help="The file to write. Default: preview.flac."),
    ] = None
    play: Annotated[
        bool, flag("--play", help="Play it; a file is written only with -o (the extra play).")
    ] = False
    model: Annotated[
        str | None,
        flag("--model", "-m", metavar="MODEL", help="Let this model speak a new one, and keep it."),
    ] = None
    force: Annotated[bool, flag("--force", help="Write over an existing file.")] = False
