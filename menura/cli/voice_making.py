"""The work of `menura voices add` and `record`: a recording is checked, then kept as a voice.

The order is the user's: first what is wrong with the recording, then the questions, and nothing is
written before all is known.
"""

import io
import re
from dataclasses import replace
from pathlib import Path

from menura import api, settings
from menura.audio.encoders import Encoder
from menura.audio.findings import Severity
from menura.cli.asking import answer_to, can_ask
from menura.cli.findings import report_as_json, show_report
from menura.cli.microphone import check_installed
from menura.cli.microphone import record as hear
from menura.cli.new_voice_flags import AddFlags, NewVoiceFlags, RecordFlags, RecordingFlags
from menura.cli.reports import warn
from menura.cli.terminal import dim, emit_json, note, visible
from menura.cli.text_input import read_text
from menura.cli.voice_choice import model_for
from menura.cli.voice_facts import as_json, done, recording
from menura.cli.voice_keeping import language_of, model_of
from menura.cli.voice_questions import asked_text, consent_of
from menura.cli.voice_words import named, shadow_note, spoken_as
from menura.errors import InvalidValueError, RecordingError, UnsupportedError, shell_word
from menura.speech import FloatArray
from menura.voice_library import own_models
from menura.voice_library.from_models import of_preset
from menura.voice_library.labels import checked_label, folded
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.making import Prepared, new_voice, prepare, refuse
from menura.voice_library.new_voice import NewVoice
from menura.voice_library.samples import sample_text

# What the user typed for a name of ours.
_FLAG_NAMES = {"transcript": "--ref-text", "clip": "FILE"}
# `https://...`, of which a path keeps one slash; one letter is a drive.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:[/\\]", re.IGNORECASE)


def add(flags: AddFlags) -> None:
    """Nothing; the voice is in the library.

    Raises: InvalidValueError: the name is taken, or flags do not go together; RecordingError: a
        check refused the recording; ConsentError; as `prepare`.
    """
    library = VoiceLibrary()
    check_label(library, flags.label)
    model_of(flags.default_model or "")  # before anybody is asked anything
    _check(flags)
    if flags.preset is not None:
        keep(library, _of_preset(flags, flags.preset), flags)
        return
    assert flags.file is not None
    text = flags.ref_text
    if flags.ref_text_file is not None:
        text = read_text(None, flags.ref_text_file).strip()
    _keep_recording(library, flags.file, flags, text, transcribe=flags.transcribe)


def record(flags: RecordFlags) -> None:
    """Nothing; what the microphone heard is a voice in the library.

    Raises: as `add`; EngineNotInstalledError, OutputError: there is no microphone to hear with.
    """
    library = VoiceLibrary()
    check_label(library, flags.label)
    model_of(flags.default_model or "")  # before anybody is asked anything
    if flags.seconds is None and not can_ask(flags):
        raise InvalidValueError(
            "nobody is here to press Enter: say how long to record with --seconds N.",
            param="--seconds",
        )
    check_installed()
    # Asked before, since a recording is not kept while one looks for words.
    flags = replace(flags, consent=consent_of(flags, flags.consent))
    text = flags.ref_text or sample_text(language_of(flags.language))
    note(f"Read aloud:  {visible(text)}")
    if flags.seconds is None:
        answer_to("Enter starts the recording, and Enter ends it.")
    samples, rate_hz = hear(flags.seconds)
    _keep_recording(library, _as_file(samples, rate_hz), flags, text, transcribe=False)


def check_label(library: VoiceLibrary, label: str) -> None:
    """Nothing, where a new voice may be called so. Raises: InvalidValueError."""
    for voice in library.by_label().get(folded(checked_label(label)), ()):
        raise InvalidValueError(
            f"there is a voice {voice.label!r} already: give another name, or remove that one "
            "first.",
            param="NAME",
        )


def keep(library: VoiceLibrary, made: NewVoice, flags: NewVoiceFlags, **more: object) -> None:
    """Nothing; the new voice is in the library, and the answer printed, `more` with it."""
    made = replace(
        made,
        label=flags.label,
        notes=flags.notes,
        language=language_of(flags.language) or made.language,
    )
    if isinstance(flags, RecordingFlags) and flags.default_model is not None:
        made = replace(made, defaults=replace(made.defaults, model=model_of(flags.default_model)))
    voice = library.add(made)
    if made.defaults.model is not None:
        own_models.choose(library, voice)
    if told := shadow_note(voice):
        warn(told)
    if flags.json:
        emit_json(as_json(voice) | more)
        return
    done(voice, "kept", recording(voice))
    note(dim(visible(_what_next(voice)), "stderr"))


def _what_next(voice: LibraryVoice) -> str:
    """How it is used: with `say` where a model is here, else which model could be brought."""
    try:
        model_for(voice)
    except UnsupportedError:
        return f"Which models can use it: menura voices fit {named(voice)} --all"
    return f"Speak with it: menura say 'Hello there.' -v {spoken_as(voice)}"


def _keep_recording(
    library: VoiceLibrary,
    clip: Path | bytes,
    flags: RecordingFlags,
    text: str | None,
    *,
    transcribe: bool,
) -> None:
    """Nothing; the checked recording is a voice, after the questions that are still open."""
    prepared = _prepared(clip, flags, text, transcribe=transcribe)
    if text is None and not (prepared.report.refused and not flags.anyway):
        said = asked_text(flags, prepared.transcript)
        if said != prepared.transcript:
            prepared = _prepared(clip, flags, said)
    _tell(prepared, flags)
    consent = consent_of(flags, flags.consent)
    made = new_voice(prepared, flags.label, consent=consent, anyway=flags.anyway)
    keep(library, made, flags, report=report_as_json(prepared.report))


def _of_preset(flags: AddFlags, preset: str) -> NewVoice:
    tts = api.load(flags.model)
    made = of_preset(tts, preset, flags.label, language=language_of(flags.language))
    model = model_of(flags.model or settings.load().default_model)
    if own_models.named(model) is not None:
        return made
    return replace(made, defaults=replace(made.defaults, model=model))  # a folder is found again


def _tell(prepared: Prepared, flags: RecordingFlags) -> None:
    """Nothing; what was found is told. Raises: RecordingError: no voice comes of it."""
    try:
        refuse(prepared, anyway=flags.anyway)
    except RecordingError as error:
        if not flags.json:
            show_report(prepared.report, but=Severity.REFUSE)  # that is what the error says
        hint = " To keep it all the same: --anyway" if error.param == "transcript" else ""
        param = _FLAG_NAMES.get(error.param or "", error.param)
        raise RecordingError(error.message + hint, param=param, report=error.report) from error
    if not flags.json:
        show_report(prepared.report)


def _prepared(
    clip: Path | bytes, flags: RecordingFlags, text: str | None, *, transcribe: bool = False
) -> Prepared:
    return prepare(
        clip,
        transcript=text,
        language=language_of(flags.language),
        transcribe=transcribe,
        trim=flags.trim,
    )


def _check(flags: AddFlags) -> None:
    """Nothing, or InvalidValueError where the flags do not go together."""
    if flags.preset is None and flags.model is not None:
        raise InvalidValueError(
            "--model goes with --preset; the model that menura say takes for a voice is "
            "--default-model.",
            param="--model",
        )
    name = shell_word(visible(flags.label))
    if (flags.file is None) == (flags.preset is None):
        raise InvalidValueError(
            f"give one of the two: a recording (menura voices add {name} FILE), or a model's own "
            f"voice with --preset VOICE. From the microphone: menura voices record {name}",
            param="FILE",
        )
    sources = (flags.ref_text is not None, flags.ref_text_file is not None, flags.transcribe)
    if sum(sources) > 1:
        raise InvalidValueError(
            "give one of --ref-text, --ref-text-file and --transcribe.", param="--ref-text"
        )
    if flags.file is not None and _ADDRESS.match(str(flags.file)) and not flags.file.exists():
        raise InvalidValueError(
            f"{str(flags.file).replace(':/', '://', 1)!r} is an address, and addresses are not "
            "fetched: download the recording, and give its file.",
            param="FILE",
        )


def _as_file(samples: FloatArray, rate_hz: int) -> bytes:
    sink = io.BytesIO()
    with Encoder(sink, "wav", rate_hz) as encoder:
        encoder.write(samples)
    return sink.getvalue()
