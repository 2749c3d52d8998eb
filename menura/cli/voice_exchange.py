"""The work of `menura voices export` and `import`: voices as files, for another machine."""

import io
import os
import re
import sys
import unicodedata
from pathlib import Path

from menura.cli.quantities import size
from menura.cli.reports import doubts_told, warn
from menura.cli.terminal import (
    accent,
    check_open,
    emit_json,
    is_terminal,
    note,
    visible,
    writing_to,
)
from menura.cli.voice_facts import as_json, done, recording
from menura.cli.voice_flags import ExportFlags, ImportFlags
from menura.cli.voice_questions import consent_of
from menura.cli.voice_words import shadow_note
from menura.errors import ConsentError, InvalidValueError, RecordingError
from menura.voice_library.importing import import_file
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.plain_files import read_pipe
from menura.voice_library.portable import ENDING
from menura.voice_library.portable import export as write_portable
from menura.voice_library.zip_entries import MAX_FILE_BYTES

STDOUT = STDIN = "-"
_LONGEST_STEM = 60
# Names that Windows keeps for devices, whatever their ending.
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def export(flags: ExportFlags) -> None:
    """Nothing; the voice stands in one file.

    Raises: InvalidValueError: the file is there already, or it would go to a terminal;
        VoiceNotFoundError; OutputError.
    """
    library = VoiceLibrary()
    voice = library.find(flags.name)
    if flags.output == STDOUT:
        _export_to_stdout(library, voice, flags)
        return
    path = Path(flags.output or f"{file_stem(voice.label) or voice.id}{ENDING}")
    if path.is_dir():
        path /= f"{file_stem(voice.label) or voice.id}{ENDING}"
    if not flags.force and os.path.lexists(path):
        raise InvalidValueError(
            f"{str(path)!r} exists already: write over it with --force, or give another name.",
            param="--output",
        )
    write_portable(library, voice.id, path, with_prompts=flags.prompts)
    n_bytes = path.stat().st_size
    if flags.json:
        emit_json({"path": str(path), "n_bytes": n_bytes, "voice": as_json(voice)})
    else:
        note(f"{accent(visible(str(path)), 'stderr')}  {visible(voice.label)}, {size(n_bytes)}")


def import_voices(flags: ImportFlags) -> None:
    """Nothing; the voices of the file or folder are in the library.

    Raises: InvalidValueError: there is no such file, it is none, or its voice is here already;
        ConsentError: it holds recordings and nobody said what their speaker agreed to.
    """
    library, source = VoiceLibrary(), _source(flags)
    try:
        brought = _imported(library, source, flags, flags.consent)
    except RecordingError as error:
        if error.param != "transcript":
            raise
        told = f"{error.message} To keep it all the same: --anyway"
        raise RecordingError(told, param="PATH", report=error.report) from error
    except ConsentError:
        brought = _imported(library, source, flags, consent_of(flags, flags.consent))
    for voice in brought:
        if told := shadow_note(voice):
            warn(told)
    if flags.json:
        emit_json({"imported": [as_json(voice) for voice in brought]})
        return
    for voice in brought:
        done(voice, "imported", recording(voice) or "without a recording")


def file_stem(label: str) -> str:
    """The label as a file's name without its ending; empty where nothing is left of it."""
    plain = unicodedata.normalize("NFC", label)
    stem = re.sub(r"[^\w-]+", "-", plain)[:_LONGEST_STEM].strip("-_")
    return "" if _DEVICE.fullmatch(stem) else stem


def _source(flags: ImportFlags) -> Path | bytes:
    """The path, or what comes through the pipe. Raises: InvalidValueError: nothing could come."""
    if str(flags.path) != STDIN:
        return flags.path
    if is_terminal("stdin"):
        raise InvalidValueError(
            "a voice is not typed in: send it through a pipe, or give its file.", param="PATH"
        )
    return read_pipe(sys.stdin.buffer, MAX_FILE_BYTES)


def _imported(
    library: VoiceLibrary, source: Path | bytes, flags: ImportFlags, consent: str | None
) -> tuple[LibraryVoice, ...]:
    with doubts_told():
        return import_file(
            library,
            source,
            label=flags.label,
            model=flags.model,
            consent=consent,
            anyway=flags.anyway,
        )


def _export_to_stdout(library: VoiceLibrary, voice: LibraryVoice, flags: ExportFlags) -> None:
    check_open("stdout")
    if flags.json:
        raise InvalidValueError(
            "--json and -o - both need stdout: write the voice to a file.", param="--json"
        )
    if is_terminal("stdout"):
        raise InvalidValueError(
            "a voice is not written to a terminal: send it through a pipe or into a file.",
            param="--output",
        )
    whole = io.BytesIO()
    write_portable(library, voice.id, whole, with_prompts=flags.prompts)
    with writing_to("standard output"):
        sys.stdout.buffer.write(whole.getvalue())
        sys.stdout.buffer.flush()
