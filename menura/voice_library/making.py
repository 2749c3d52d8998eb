"""Making a voice from a recording, which is checked first.

    bytes -> decode, capped -> examine -> transcribe? -> cut at a pause? -> trim -> FLAC, findings

Nothing is written here, and no model encodes anything: `VoiceLibrary.add` keeps the `NewVoice`.
"""

import io
import os
from dataclasses import dataclass, replace

from menura import languages, transcription
from menura.audio.clip_checks import LONGEST_S
from menura.audio.decode import AudioCaps, DecodedAudio, decode
from menura.audio.encoders import Encoder
from menura.audio.findings import Finding, Severity
from menura.audio.levels import BLOCK_S, block_levels, heard_blocks
from menura.audio.pcm import FloatArray
from menura.audio.recording import RecordingReport, examine
from menura.audio.trimming import Trim, trimmed
from menura.errors import RecordingError
from menura.voice_library import transcripts
from menura.voice_library.agreement import with_consent
from menura.voice_library.known_values import check_language
from menura.voice_library.new_voice import NewClip, NewVoice
from menura.voice_library.record import SourceKind, VoiceSource
from menura.voice_library.shortening import ALIKE, Cut, likeness, shortened

CAPS = AudioCaps(max_seconds=LONGEST_S)
_HEARD_FIRST_S = 30.0
_FULLEST = 0.99  # of full scale: FLAC cuts off what is above it


@dataclass(frozen=True, eq=False)
class Prepared:
    """A recording that was checked and trimmed: a mono FLAC file at its own rate.

    `report` and `peaks` (400, from 0 to 1) are of the recording as it was given, and `trim` says
    which part of it the clip is. `language` is its name, where it was given or heard.
    """

    flac: bytes
    seconds: float
    sample_rate_hz: int
    transcript: str | None
    language: str | None
    report: RecordingReport
    trim: Trim

    @property
    def peaks(self) -> tuple[float, ...]:
        """The outline of the recording as it was given, to draw it by."""
        return self.report.envelope


def prepare(
    clip: str | os.PathLike[str] | bytes,
    *,
    transcript: str | None = None,
    language: str | None = None,
    transcribe: bool = False,
    trim: bool = True,
) -> Prepared:
    """The recording of a file or its bytes, checked; its report says what is wrong with it.

    With `transcribe` it is transcribed where there is no transcript, and else compared; over 20 s
    it is then cut at a pause, with the transcript in step. `trim=False` keeps all of it.

    Raises: UnreadableAudioError, AudioTooLargeError; InvalidValueError: the transcript is no text,
        or the language is not known; as `transcription.transcribe`.
    """
    said = transcripts.plain(transcript)
    check_language(language)
    recording = decode(clip, CAPS)
    report = examine(recording.samples, recording.sample_rate_hz, recording.channel_peak)
    heard = _Heard(said, language)
    if transcribe and not report.refused:
        heard = _heard(recording, said, language, cut=trim)
    return _prepared(recording, report, heard, trim=trim)


def refuse(prepared: Prepared, *, anyway: bool = False) -> None:
    """Nothing, for a recording that may become a voice.

    Raises: RecordingError: a finding refuses it; `anyway` overrules those about the transcript.
    """
    refused = [
        found
        for found in prepared.report.refused
        if not (anyway and found.code in transcripts.ABOUT_TRANSCRIPT)
    ]
    if refused:
        about = {found.code for found in refused} <= transcripts.ABOUT_TRANSCRIPT
        raise RecordingError(
            " ".join(f"{found.says} {found.do}" for found in refused),
            param="transcript" if about else "clip",
            report=prepared.report,
        )


def new_voice(
    prepared: Prepared,
    label: str,
    *,
    consent: str | None,
    consent_needed: bool = True,
    anyway: bool = False,
    language: str | None = None,
    notes: str = "",
) -> NewVoice:
    """The voice of a recording, for the library to keep. `consent`: what its speaker agreed to.

    Raises: RecordingError: as `refuse`; ConsentError: there is none, and it is needed.
    """
    refuse(prepared, anyway=anyway)
    made = NewVoice(
        label=label,
        clips=(clip_of(prepared),),
        source=VoiceSource(SourceKind.RECORDING),
        language=languages.name_of(language) if language else prepared.language,
        notes=notes,
    )
    return with_consent(made, consent, needed=consent_needed)


def prepared_take(samples: FloatArray, rate_hz: int, said: str) -> Prepared:
    """A model's take, samples [n] of `said`, checked and trimmed as a recording is."""
    recording = DecodedAudio(samples, rate_hz, "take", 1)
    return _prepared(recording, examine(samples, rate_hz), _Heard(said, None), trim=True)


def clip_of(prepared: Prepared) -> NewClip:
    """The clip that a voice keeps."""
    return NewClip(prepared.flac, prepared.transcript, prepared.seconds, prepared.sample_rate_hz)


@dataclass(frozen=True, eq=False)
class _Heard:
    """What is said in a recording, as far as it is known, and where it is cut for that."""

    transcript: str | None
    language: str | None
    cut: Cut | None = None
    findings: tuple[Finding, ...] = ()


def _heard(recording: DecodedAudio, said: str | None, language: str | None, *, cut: bool) -> _Heard:
    """What the recogniser hears, compared with what is said to be said.

    To cut a long recording its first 30 s are enough, and the rest need not be waited for.
    """
    samples, rate_hz = recording.samples, recording.sample_rate_hz
    if cut and recording.seconds > _HEARD_FIRST_S:
        first = samples[: round(_HEARD_FIRST_S * rate_hz)]
        heard = transcription.transcribe(first, rate_hz, language)
        if found := shortened(samples, rate_hz, heard.words, said):
            return _Heard(found.transcript, language or heard.language, found)
    heard = transcription.transcribe(samples, rate_hz, language)
    transcript = said or transcripts.plain(heard.text)
    language = language or heard.language
    if transcript is not None and likeness(transcript, heard.text) < ALIKE:
        return _Heard(transcript, language, findings=(transcripts.differs(heard.text),))
    found = shortened(samples, rate_hz, heard.words, transcript) if cut else None
    return _Heard(transcript if found is None else found.transcript, language, found)


def _prepared(
    recording: DecodedAudio, report: RecordingReport, heard: _Heard, *, trim: bool
) -> Prepared:
    rate_hz, cut, findings = recording.sample_rate_hz, heard.cut, heard.findings
    if cut is not None:
        report = _shortened_report(report, cut)
    kept = _kept(recording, trim, cut)
    if not report.refused:
        heard_s = float(heard_blocks(block_levels(kept.samples, rate_hz)).sum()) * BLOCK_S
        findings += transcripts.check(heard.transcript, heard_s)
    return Prepared(
        flac=_flac(kept.samples, rate_hz),
        seconds=len(kept.samples) / rate_hz,
        sample_rate_hz=rate_hz,
        transcript=heard.transcript,
        language=_name_of(heard.language),
        report=report.with_findings(findings),
        trim=kept,
    )


def _kept(recording: DecodedAudio, trim: bool, cut: Cut | None) -> Trim:
    """The part of a recording that becomes the clip."""
    if not trim:
        return Trim(0.0, recording.seconds, recording.samples)
    span = None if cut is None else (0.0, cut.end_s)
    return trimmed(recording.samples, recording.sample_rate_hz, span)


def _shortened_report(report: RecordingReport, cut: Cut) -> RecordingReport:
    """The report on a recording that is cut: what is said of its length and end is settled."""
    told = tuple(found for found in report.findings if found.code not in ("long", "ends_in_sound"))
    note = Finding(
        "shortened",
        Severity.NOTE,
        f"Only its first {cut.end_s:.1f} s are kept, up to a pause, and the transcript with them: "
        "clips of 5 to 15 s are best.",
        "Nothing, or choose another part of it yourself.",
        ((round(cut.end_s, 3), round(report.seconds, 3)),),
    )
    return replace(report, findings=told).with_findings((note,))


def _flac(samples: FloatArray, rate_hz: int) -> bytes:
    """The samples [n] as a FLAC file; what is beyond full scale is made quieter as a whole."""
    peak = max(float(samples.max(initial=0.0)), -float(samples.min(initial=0.0)))
    if peak > 1.0:
        samples = samples * (_FULLEST / peak)
    file = io.BytesIO()
    with Encoder(file, "flac", rate_hz) as encoder:
        encoder.write(samples)
    return file.getvalue()


def _name_of(language: str | None) -> str | None:
    """The language's name, as records keep it; None for one that a recogniser alone knows."""
    return languages.name_of(language) if language and languages.is_known(language) else None
