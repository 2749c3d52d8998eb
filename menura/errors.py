"""Every error a user can meet, with its code, HTTP status and exit code: this file is the table.

A message says what was given, what is allowed and what to do. `param` names the parameter as the
user typed it (`voice`, `top_k`, `--format`), so that a server or an editor can point at it.
"""

import errno
import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar


class MenuraError(Exception):
    """Something failed that is nobody's bad input. The base of all errors that Menura raises."""

    code: ClassVar[str] = "failure"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param

    def __init_subclass__(cls, *, code: str, http_status: int, exit_code: int) -> None:
        super().__init_subclass__()
        cls.code = code
        cls.http_status = http_status
        cls.exit_code = exit_code


class InvalidValueError(MenuraError, code="invalid_value", http_status=400, exit_code=2):
    """A value is out of range, of the wrong type, or an unknown name."""


class SettingsError(MenuraError, code="invalid_settings", http_status=500, exit_code=2):
    """`settings.toml` or a `MENURA_*` variable has an unknown key or a bad value."""


class ModelNotFoundError(MenuraError, code="model_not_found", http_status=404, exit_code=3):
    """The model is not on this machine; the message names the command that brings it."""


class VoiceNotFoundError(MenuraError, code="voice_not_found", http_status=404, exit_code=3):
    """The voice library has no such voice, or has it no more."""


class ConsentError(MenuraError, code="consent_required", http_status=400, exit_code=2):
    """A recording of a person was given without what that person agreed to."""


class RecordingError(MenuraError, code="recording_unfit", http_status=400, exit_code=2):
    """A recording cannot become a voice as it is; `report` holds what was found, if it was heard.

    `report` is a `menura.audio.recording.RecordingReport`, which this file knows nothing of.
    """

    def __init__(self, message: str, *, param: str | None = None, report: object = None) -> None:
        super().__init__(message, param=param)
        self.report = report


class UnsupportedError(MenuraError, code="unsupported", http_status=400, exit_code=4):
    """The model cannot do what was asked; the message names one that can, where one is known.

    `needs` is the missing ability in one word: a language, `clone`, `instruct`, `design`.
    """

    def __init__(self, message: str, *, param: str | None = None, needs: str = "") -> None:
        super().__init__(message, param=param)
        self.needs = needs


class PartlyDoneError(MenuraError, code="partly_done", http_status=500, exit_code=5):
    """Several things were asked for and some of them failed."""


class NothingToSpeakError(MenuraError, code="nothing_to_speak", http_status=400, exit_code=6):
    """The text holds nothing that can be spoken: empty, blank, only punctuation or only emoji."""


class EngineNotInstalledError(MenuraError, code="engine_missing", http_status=501, exit_code=7):
    """The engine, or a package that it needs, is not installed; the message gives the command."""


class UnreadableAudioError(MenuraError, code="unreadable_audio", http_status=400, exit_code=2):
    """The bytes are not audio that can be read, or they are damaged."""


class AudioTooLargeError(MenuraError, code="audio_too_large", http_status=413, exit_code=2):
    """An audio input is over a cap: bytes, seconds, channels or sample rate."""


class OutputError(MenuraError, code="output_failed", http_status=500, exit_code=1):
    """The audio could not be written; nothing stands under the final name."""


class ModelFilesError(MenuraError, code="invalid_model_files", http_status=500, exit_code=1):
    """A model's files are damaged, incomplete, or not what their configuration says."""


class DownloadError(MenuraError, code="download_failed", http_status=502, exit_code=1):
    """A model could not be brought; what had arrived is kept, and the same command goes on."""


NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The system's own words for a disk that is full: `OSError.errno`."""


class DiskFullError(MenuraError, code="disk_full", http_status=507, exit_code=1):
    """There is not enough free disk: what is needed, or what filled up. What arrived is kept."""


class NumericsError(MenuraError, code="numerics", http_status=500, exit_code=1):
    """A model's numbers stopped being numbers (NaN or infinity) in one row; other rows went on."""


class NoAudioError(MenuraError, code="no_audio", http_status=500, exit_code=1):
    """A model ended a segment without giving a single sample."""


class WaitError(MenuraError, code="wait", http_status=503, exit_code=1):
    """The server cannot do it now. `retry_after_s` says in how many seconds to ask again."""

    def __init__(
        self, message: str, *, param: str | None = None, retry_after_s: float = 1.0
    ) -> None:
        super().__init__(message, param=param)
        self.retry_after_s = retry_after_s


class BusyError(WaitError, code="busy", http_status=429, exit_code=1):
    """Who asked has as many requests under way as one key may have."""


class OverloadedError(WaitError, code="overloaded", http_status=503, exit_code=1):
    """The server has more to do than it takes on: the queue is full, or no model can make room."""


class WorkerDiedError(WaitError, code="worker_died", http_status=503, exit_code=1):
    """The process that ran the model ended before the request did; a new one is being started."""


class DeadlineError(WaitError, code="deadline", http_status=504, exit_code=1):
    """A request took longer than one may take, or its reader took nothing for too long."""


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the closest allowed name, or an empty string if none is close."""
    by_folded_name = {name.casefold(): name for name in allowed}
    close = get_close_matches(given.casefold(), by_folded_name, n=1, cutoff=0.6)
    return f" Did you mean {by_folded_name[close[0]]!r}?" if close else ""


def shell_word(word: str) -> str:
    """The word as it is typed into a shell, for a command in a message: quoted where it must be."""
    return shlex.quote(word)
