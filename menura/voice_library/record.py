"""What `voice.json` says of a voice: all that is known of it, in words that a person can read.

Reading is strict: a record that is not wholly understood is an error that says why, never a guess.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

from menura.errors import InvalidValueError
from menura.speech import FASTEST, SLOWEST
from menura.voice_library.labels import ID_FORM, checked_label
from menura.voice_library.strict_json import StrictObject

SCHEMA = 1
RECORD_FILE = "voice.json"
CLIPS_FOLDER = "clips"
PROMPTS_FOLDER = "prompts"
PREVIEW_FILE = "preview.flac"
CONSENT_FILE = "consent.flac"

LONGEST_NOTES = 4_000
LONGEST_CONSENT = 20_000
LONGEST_TRANSCRIPT = 20_000
LONGEST_INSTRUCT = 4_096
LONGEST_LANGUAGE = 40
MAX_CLIPS = 16
MAX_OPTIONS = 64
_LONGEST_NAME = 200
_LONGEST_VALUE = 1_000
_MOST_SECONDS = 3_600.0
_CLIP_FORM = r"clips/[0-9A-Za-z][0-9A-Za-z_-]{0,63}\.flac"
_SHA256_FORM = r"[0-9a-f]{64}"
_DAY_FORM = r"\d{4}-\d{2}-\d{2}"
_TIME_FORM = _DAY_FORM + r"T\d{2}:\d{2}:\d{2}Z"


class SourceKind(StrEnum):
    """Where a voice comes from."""

    RECORDING = "recording"
    DESIGN = "design"
    PRESET = "preset"
    IMPORT = "import"


@dataclass(frozen=True)
class Consent:
    """What the speaker agreed to, and the day; `recording` is a file in the voice's folder."""

    text: str
    given_on: str
    recording: str | None = None


@dataclass(frozen=True)
class VoiceSource:
    """How the voice was made: the model, and the description, preset or seed that it came from."""

    kind: SourceKind
    model: str = ""
    description: str = ""
    preset: str = ""
    seed: int | None = None


@dataclass(frozen=True)
class ClipRecord:
    """One recording of the voice: its file inside the folder, and what is said in it."""

    file: str
    sha256: str
    transcript: str | None
    seconds: float
    sample_rate_hz: int


@dataclass(frozen=True)
class VoiceDefaults:
    """How the voice speaks where a request does not say; `speed` multiplies the request's."""

    model: str | None = None
    language: str | None = None
    instruct: str | None = None
    speed: float = 1.0
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


NO_DEFAULTS = VoiceDefaults()


@dataclass(frozen=True)
class VoiceRecord:
    """All that is known of a voice. `language` is the one that is heard in its clips."""

    id: str
    label: str
    language: str | None
    notes: str
    made_on: str
    edited_on: str
    consent: Consent | None
    source: VoiceSource
    clips: tuple[ClipRecord, ...]
    preview: str | None = None
    defaults: VoiceDefaults = NO_DEFAULTS

    def to_json(self) -> str:
        """The record as `voice.json` holds it; `from_json` gives it back."""
        defaults = {**_fields(self.defaults), "options": dict(self.defaults.options)}
        content = {
            "schema": SCHEMA,
            **_fields(self),
            "consent": None if self.consent is None else asdict(self.consent),
            "source": asdict(self.source),
            "clips": [asdict(clip) for clip in self.clips],
            "preview": self.preview,
            "defaults": defaults,
        }
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "VoiceRecord":
        """The record of a `voice.json`. Raises: InvalidValueError, which says what is wrong."""
        read = StrictObject.parse(text)
        _check_schema(read)
        read.expect_only("schema", *(name for name in cls.__dataclass_fields__))
        record = cls(
            id=read.text("id", _LONGEST_NAME, pattern=ID_FORM),
            label=checked_label(read.text("label", _LONGEST_VALUE)),
            language=read.text_or_none("language", LONGEST_LANGUAGE),
            notes=read.text_or_empty("notes", LONGEST_NOTES),
            made_on=read.text("made_on", _LONGEST_NAME, pattern=_TIME_FORM),
            edited_on=read.text("edited_on", _LONGEST_NAME, pattern=_TIME_FORM),
            consent=_consent(read.section("consent")),
            source=_source(read.section("source")),
            clips=tuple(_clip(clip) for clip in read.sections("clips", MAX_CLIPS)),
            preview=read.text_or_none("preview", _LONGEST_NAME, pattern=PREVIEW_FILE),
            defaults=_defaults(read.section("defaults")),
        )
        _check_clips(record)
        return record


def checked(record: VoiceRecord) -> VoiceRecord:
    """The record, if `from_json` will read what `to_json` writes of it.

    Raises: InvalidValueError: a value in it is not allowed; it says which.
    """
    try:
        return VoiceRecord.from_json(record.to_json())
    except (TypeError, ValueError) as error:
        raise InvalidValueError(f"the voice cannot be kept: {error!s:.200}") from error


def now() -> str:
    """The present second, as records hold it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def today() -> str:
    """The present day, as consents hold it."""
    return datetime.now(UTC).date().isoformat()


def _fields(of: VoiceRecord | VoiceDefaults) -> dict[str, object]:
    return {name: getattr(of, name) for name in of.__dataclass_fields__}


def _check_schema(read: StrictObject) -> None:
    schema = read.whole("schema", 1, 10**6)
    if schema > SCHEMA:
        raise InvalidValueError(
            f"it was written by a newer Menura (voice schema {schema}; this one reads up to "
            f"{SCHEMA}): update Menura."
        )


def _consent(read: StrictObject | None) -> Consent | None:
    if read is None:
        return None
    read.expect_only("text", "given_on", "recording")
    return Consent(
        text=read.text("text", LONGEST_CONSENT),
        given_on=read.text("given_on", _LONGEST_NAME, pattern=_DAY_FORM),
        recording=read.text_or_none("recording", _LONGEST_NAME, pattern=CONSENT_FILE),
    )


def _source(read: StrictObject | None) -> VoiceSource:
    if read is None:
        return VoiceSource(SourceKind.IMPORT)
    read.expect_only("kind", "model", "description", "preset", "seed")
    kind = read.text("kind", _LONGEST_NAME, pattern="|".join(SourceKind))
    seed = read.whole("seed", 0, 2**63 - 1) if read.has("seed") else None
    return VoiceSource(
        kind=SourceKind(kind),
        model=read.text_or_empty("model", _LONGEST_NAME),
        description=read.text_or_empty("description", LONGEST_INSTRUCT),
        preset=read.text_or_empty("preset", _LONGEST_NAME),
        seed=seed,
    )


def _clip(read: StrictObject) -> ClipRecord:
    read.expect_only("file", "sha256", "transcript", "seconds", "sample_rate_hz")
    return ClipRecord(
        file=read.text("file", _LONGEST_NAME, pattern=_CLIP_FORM),
        sha256=read.text("sha256", _LONGEST_NAME, pattern=_SHA256_FORM),
        transcript=read.text_or_none("transcript", LONGEST_TRANSCRIPT),
        seconds=read.number("seconds", 0.0, _MOST_SECONDS),
        sample_rate_hz=read.whole("sample_rate_hz", 4_000, 192_000),
    )


def _defaults(read: StrictObject | None) -> VoiceDefaults:
    if read is None:
        return VoiceDefaults()
    read.expect_only("model", "language", "instruct", "speed", "options")
    return VoiceDefaults(
        model=read.text_or_none("model", _LONGEST_NAME),
        language=read.text_or_none("language", LONGEST_LANGUAGE),
        instruct=read.text_or_none("instruct", LONGEST_INSTRUCT),
        speed=read.number("speed", SLOWEST, FASTEST, default=1.0),
        options=MappingProxyType(read.plain_values("options", MAX_OPTIONS, _LONGEST_VALUE)),
    )


def _check_clips(record: VoiceRecord) -> None:
    files = [clip.file.casefold() for clip in record.clips]
    if len(set(files)) != len(files):
        raise InvalidValueError("'clips' names one file twice.")
    if not files and record.source.kind != SourceKind.IMPORT:
        raise InvalidValueError("'clips' is empty; a voice needs a recording that it speaks like.")
