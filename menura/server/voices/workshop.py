"""The process that reads one file of a client's: `python -m menura.server.voices.workshop`.

One frame comes in and says what to do with which file; one frame goes out and says what came of it.
Then the process ends, and so it does when the server closes its input, in the middle of a decoder
if need be. It may take only so much memory, and whatever prints goes nowhere near the answer.
"""

import os
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from threading import Thread
from traceback import extract_tb
from typing import BinaryIO, NoReturn

from menura.errors import (
    AudioTooLargeError,
    ConsentError,
    EngineNotInstalledError,
    InvalidValueError,
    MenuraError,
    ModelFilesError,
    ModelNotFoundError,
    UnsupportedError,
)
from menura.server.models import frames
from menura.server.models.frames import Frame
from menura.server.models.values_wire import plain
from menura.voice_library import importing, making
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.making import Prepared
from menura.voice_library.portable import export

if sys.platform != "win32":
    import resource

MAX_MEMORY_BYTES = 6 * 2**30
"""The most address space; the libraries alone take two gigabytes of it, which they do not use."""

MAX_FILE_BYTES = 512 * 2**20
MADE = "made.flac"
"""What a made clip is called, beside the file that it was made of."""

_LACKS = (EngineNotInstalledError, ModelNotFoundError, ModelFilesError)
_NICE = 5  # speech that is being made goes first
_Job = Callable[[Frame], Mapping[str, object]]


def main() -> NoReturn:
    """Never; the process ends when its job is done."""
    sink = _own_sink()
    limit_resources()
    job = frames.read(sys.stdin.buffer)
    if job is not None:
        Thread(target=_end_with_the_input, daemon=True).start()
        sink.write(frames.pack(answer_to(job)))
        sink.flush()
    os._exit(0)


def answer_to(job: Frame) -> Mapping[str, object]:
    """What came of the job: its result, or `error`, whose words name no place on this machine."""
    try:
        return _result(job)
    except MenuraError as error:
        return _told(error, job.text("file"))


def _result(job: Frame) -> Mapping[str, object]:
    try:
        return _JOBS[job.text("job")](job)
    except MenuraError:
        raise
    except MemoryError as error:
        raise AudioTooLargeError("the file takes too much memory to read.") from error
    except Exception as error:  # the border: a defect is told as one, without a client's words
        _log_cause(error)
        raise MenuraError(f"a file could not be read ({type(error).__name__}).") from error


def limit_resources() -> None:
    """Nothing; from here on the process can take only so much."""
    if sys.platform == "win32":
        return
    for kind, most in (
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),  # a core would hold somebody's voice
    ):
        _, hard = resource.getrlimit(kind)
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # macOS knows no bound of the address space
            resource.setrlimit(kind, (bound, bound))
    os.nice(_NICE)


def _check(job: Frame) -> Mapping[str, object]:
    """What a recording is: figures, findings, and its outline. Nothing is kept."""
    prepared = _prepared(job)
    report = asdict(replace(prepared.report, envelope=()))
    del report["envelope"]
    return {
        "report": plain(report),
        "peaks": [float(peak) for peak in prepared.peaks],
        "transcript": prepared.transcript,
        "seconds": float(prepared.seconds),
        "trim": {"start_s": float(prepared.trim.start_s), "end_s": float(prepared.trim.end_s)},
    }


def _make(job: Frame) -> Mapping[str, object]:
    """What a voice's clip is; the clip itself lies beside the file. Raises: RecordingError."""
    prepared = _prepared(job)
    making.refuse(prepared, anyway=job.flag("anyway"))
    _beside(job, prepared.flac)
    return {
        "transcript": prepared.transcript,
        "language": prepared.language,
        "seconds": float(prepared.seconds),
        "sample_rate_hz": int(prepared.sample_rate_hz),
    }


def _keep(job: Frame) -> Mapping[str, object]:
    """Nothing but that something is heard in it; as FLAC, whole, it lies beside the file.

    Raises: RecordingError: there is nothing in which a person could agree.
    """
    prepared = making.prepare(_bytes(job), trim=False)
    making.refuse(prepared)
    _beside(job, prepared.flac)
    return {}


def _import(job: Frame) -> Mapping[str, object]:
    """The ids of the voices that the file brought into the library.

    Raises: ConsentError: it says nothing of what the speaker agreed to; MenuraError.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a client's words are not for the log
            brought = importing.import_file(
                VoiceLibrary(),
                _bytes(job),
                label=_text(job, "label"),
                consent=_text(job, "consent"),
                consent_needed=job.flag("require_consent"),
            )
    except ConsentError as error:
        raise ConsentError(
            "the file does not say what the speaker agreed to, which a voice needs here: write it "
            "in consent_text.",
            param="consent_text",
        ) from error
    return {"ids": [voice.id for voice in brought]}


def _export(job: Frame) -> Mapping[str, object]:
    """Nothing but that the file holds the voice now. Its recordings are decoded for it, here."""
    export(VoiceLibrary(), job.text("voice"), Path(job.text("file")))
    return {}


_JOBS: Mapping[str, _Job] = {
    "check": _check, "make": _make, "keep": _keep, "import": _import, "export": _export,
}  # fmt: skip


def _prepared(job: Frame) -> Prepared:
    """The recording, checked. Raises: as `making.prepare`, but for what this server lacks."""
    language = _text(job, "language")
    try:
        return making.prepare(
            _bytes(job),
            transcript=_text(job, "transcript"),
            language=language,
            transcribe=job.flag("transcribe"),
        )
    except UnsupportedError as error:
        raise InvalidValueError(
            f"the language {language!r} cannot be transcribed here: leave it out, or write the "
            "transcript.",
            param="language",
        ) from error
    except MenuraError as error:
        if not isinstance(error, _LACKS) and error.param != "asr_model":
            raise
        sys.stderr.write(f"workshop: {error.message}\n")  # for who runs the server
        raise EngineNotInstalledError(
            "this server cannot transcribe: it lacks the extra `asr` or its weights. Write what is "
            "said in the recording, as transcript.",
            param="transcribe",
        ) from error


def _bytes(job: Frame) -> bytes:
    """The file's bytes; decoders never see a name."""
    return Path(job.text("file")).read_bytes()


def _beside(job: Frame, flac: bytes) -> None:
    Path(job.text("file")).with_name(MADE).write_bytes(flac)


def _text(job: Frame, name: str) -> str | None:
    return job.text(name) if job.has(name) else None


def _told(error: MenuraError, path: str) -> Mapping[str, object]:
    """The error as it goes to the server; a place on this machine is not for clients."""
    words = error.message.replace(repr(path), "the file").replace(path, "the file")
    head = {"status": error.http_status, "code": error.code, "message": words}
    return {"error": head | {"param": error.param}}


def _own_sink() -> BinaryIO:
    """What was the standard output. What libraries print from now on goes nowhere: it may repeat
    what stands in a file. Python's own errors still reach the server's error output.
    """
    sink = os.fdopen(os.dup(1), "wb")
    sys.stderr = os.fdopen(os.dup(2), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return sink


def _log_cause(error: BaseException) -> None:
    """Write an error's kind and places to the log, without its words."""
    places = [f"{p.filename}:{p.lineno} {p.name}" for p in extract_tb(error.__traceback__)]
    sys.stderr.write(f"workshop: {type(error).__name__} at {' < '.join(reversed(places))}\n")
    sys.stderr.flush()


def _end_with_the_input() -> None:
    """Never comes back: at the end of the input the process ends, whatever it does."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
