"""`menura voices`: the voices a user keeps, and those that a model brings along."""

from collections.abc import Callable
from typing import TypeVar

import typer

from menura.cli.commands import HELP_WIDTH, Command, Group, JsonFlags, takes
from menura.cli.new_voice_flags import AddFlags, DesignFlags, RecordFlags
from menura.cli.voice_flags import (
    EditFlags,
    ExportFlags,
    FitFlags,
    ImportFlags,
    ListFlags,
    OneVoice,
    PreviewFlags,
    RemoveFlags,
)

_Flags = TypeVar("_Flags", bound=JsonFlags)

_EPILOG = """\
Examples:
  menura voices add Anna anna.m4a --ref-text "What she says in it." --consent "Anna, by mail."
  menura voices record Me                      read a few lines aloud
  menura say "Hello there." -v Anna            speak with it
  menura voices fit Anna                       which models can use it, and what is missing
  menura voices export Anna                    one file, for another machine

A voice is a folder that explains itself: menura voices show Anna says where it is.
"""
_ADD_EPILOG = """\
Examples:
  menura voices add Anna anna.m4a --ref-text "What she says in it." --consent "Anna, by mail."
  menura voices add Anna anna.wav --ref-text-file anna.txt --language de
  menura voices add Anna anna.wav --transcribe           after: pip install 'menura[asr]'
  menura voices add Newsreader --preset ryan -m qwen3-tts-1.7b-customvoice
"""
_RECORD_EPILOG = """\
Examples:
  menura voices record Me                      shows what to read; Enter ends it
  menura voices record Me --seconds 10 --ref-text "What I will say." --consent "Myself."
"""
_DESIGN_EPILOG = """\
Examples:
  menura voices design Captain -d "An old man, hoarse and slow, with a smile in his voice."
  menura voices design Captain -d "An old man." --takes 5 --play
  menura voices design Captain -d "An old man." --seed 7 --keep 2
"""
_EDIT_EPILOG = """\
Examples:
  menura voices edit Anna --label "Anna, calm" --ref-text "What she says in it."
  menura voices edit Anna --default-model qwen3-tts-0.6b-base --speed 0.95
  menura voices edit Anna -p temperature=0.7 --notes ""
"""
_EXPORT_EPILOG = """\
Examples:
  menura voices export Anna                    writes Anna.voice.zip
  menura voices export Anna --no-prompts -o - | ssh other menura voices import -
"""
_IMPORT_EPILOG = """\
Examples:
  menura voices import Anna.voice.zip
  menura voices import recordings/             a.wav with a.txt, b.mp3 with b.txt ...
  menura voices import prompt.pt -m qwen3-tts-0.6b-base --label Anna --consent "Anna, by mail."
"""
_FIT_EPILOG = """\
Examples:
  menura voices fit Anna                       with every model on this machine
  menura voices fit Anna -m ./my-model         with this one
  menura voices fit Anna --all                 also with those that could be brought
"""
_PREVIEW_EPILOG = """\
Examples:
  menura voices preview Anna --play
  menura voices preview Anna -m qwen3-tts-0.6b-base -o anna.flac
"""


class _Voices(Group):
    """`menura voices` is `menura voices list`."""

    default_command = "list"


app = typer.Typer(
    name="voices",
    cls=_Voices,
    help="Keep voices: make, list, change, carry and try them.",
    rich_markup_mode=None,
    context_settings=HELP_WIDTH,
    epilog=_EPILOG,
)


def list_voices(flags: ListFlags) -> None:
    """List your voices and those of a model: the default one, or the one named by --model."""
    from menura.cli.voice_list import show  # noqa: PLC0415

    show(flags)


def show(flags: OneVoice) -> None:
    """Show what is known of a voice, and where it is."""
    from menura.cli.voice_facts import show  # noqa: PLC0415

    show(flags)


def add(flags: AddFlags) -> None:
    """Make a voice of a recording, or of a model's own voice. It is checked first."""
    from menura.cli.voice_making import add  # noqa: PLC0415

    add(flags)


def record(flags: RecordFlags) -> None:
    """Make a voice from the microphone (the extra play)."""
    from menura.cli.voice_making import record  # noqa: PLC0415

    record(flags)


def design(flags: DesignFlags) -> None:
    """Make a voice from a description: a model draws takes, and you keep one."""
    from menura.cli.voice_design import design  # noqa: PLC0415

    design(flags)


def edit(flags: EditFlags) -> None:
    """Change what is kept with a voice."""
    from menura.cli.voice_keeping import edit  # noqa: PLC0415

    edit(flags)


def remove(flags: RemoveFlags) -> None:
    """Remove a voice: its recording, what models made of it, and its preview."""
    from menura.cli.voice_keeping import remove  # noqa: PLC0415

    remove(flags)


def export(flags: ExportFlags) -> None:
    """Write a voice into one file, for another machine."""
    from menura.cli.voice_exchange import export  # noqa: PLC0415

    export(flags)


def import_voices(flags: ImportFlags) -> None:
    """Bring voices from a file or a folder. All is checked before anything is written."""
    from menura.cli.voice_exchange import import_voices  # noqa: PLC0415

    import_voices(flags)


def fit(flags: FitFlags) -> None:
    """Show which models can use a voice, and what is missing for the others."""
    from menura.cli.voice_fit import show  # noqa: PLC0415

    show(flags)


def preview(flags: PreviewFlags) -> None:
    """Hear a voice: its preview, or else its recording."""
    from menura.cli.voice_preview import preview  # noqa: PLC0415

    preview(flags)


def _verb(
    name: str, kind: type[_Flags], run: Callable[[_Flags], None], epilog: str | None = None
) -> None:
    app.command(name, cls=Command, epilog=epilog)(takes(kind, run))


_verb("list", ListFlags, list_voices)
_verb("show", OneVoice, show)
_verb("add", AddFlags, add, _ADD_EPILOG)
_verb("record", RecordFlags, record, _RECORD_EPILOG)
_verb("design", DesignFlags, design, _DESIGN_EPILOG)
_verb("edit", EditFlags, edit, _EDIT_EPILOG)
_verb("remove", RemoveFlags, remove)
_verb("export", ExportFlags, export, _EXPORT_EPILOG)
_verb("import", ImportFlags, import_voices, _IMPORT_EPILOG)
_verb("fit", FitFlags, fit, _FIT_EPILOG)
_verb("preview", PreviewFlags, preview, _PREVIEW_EPILOG)
