"""Voices from what an engine made of a recording that is not at hand: no clip, only the prompt.

Such a voice speaks with the weights that made it, and with no others. There are two kinds of files:
those of `Voice.save`, which are safetensors, and those that a model's own tools saved, which are
pickles. A pickle is opened by its engine's reader alone, in a process of its own.
"""

from pathlib import Path

from menura import model_choice, voice_files
from menura.engines.contract import VoicePrompt
from menura.errors import InvalidValueError, ModelFilesError
from menura.speech import Origin, Voice
from menura.voice_library.agreement import given_today, words_in
from menura.voice_library.labels import LONGEST_LABEL, checked_label
from menura.voice_library.new_voice import NewPrompt, NewVoice
from menura.voice_library.portable import check_arrays
from menura.voice_library.record import Consent, SourceKind, VoiceSource, today

PICKLE_ENDINGS = (".pt", ".pth", ".bin", ".pkl")
_AUTO = "auto"
_UNNAMED = "Imported voice"


def from_saved(data: bytes, name: str, consent: str | None = None) -> NewVoice:
    """The voice in the bytes of a file that `Voice.save` wrote; `name` is for messages.

    The consent that stands in the file is kept; `consent` is for one that has none.

    Raises: InvalidValueError: it is none, is not sound, or belongs to no weights.
    """
    found = voice_files.from_bytes(data, Path(name))
    check_arrays(found, name)
    if not found.prompt.fingerprint:
        raise InvalidValueError(
            f"{name} does not say which weights made it, so no model could use it.", param="file"
        )
    origin = found.origin
    made_on = origin.made_on if _is_day(origin.made_on) else today()
    text = words_in(origin.consent)
    brought = Consent(text, made_on) if text else None
    return NewVoice(
        label=label_from(found.label),
        clips=(),
        source=VoiceSource(SourceKind.IMPORT),
        consent=brought or given_today(consent),
        prompts=(NewPrompt(_AUTO, found),),
    )


def from_upstream(path: Path, model: str, consent: str | None = None) -> tuple[NewVoice, ...]:
    """The voices of a file that a model's own tools saved; `model` is the one they were made with.

    Raises: InvalidValueError: the file is none, or holds more than plain numbers and texts;
        UnsupportedError: the model has no such files; ModelNotFoundError, ModelFilesError,
        EngineNotInstalledError: the model cannot be asked.
    """
    engine_class, found = model_choice.found(model)
    try:
        made = engine_class.saved_voices(found.folder, path)
    except InvalidValueError as error:
        raise InvalidValueError(error.message, param="file") from error
    base = label_from(path.stem)
    labels = [base] if len(made) == 1 else [f"{base} {n}" for n in range(1, len(made) + 1)]
    return tuple(
        _of_prompt(prompt, label, found.name, consent)
        for prompt, label in zip(made, labels, strict=True)
    )


def _of_prompt(prompt: VoicePrompt, label: str, model: str, consent: str | None) -> NewVoice:
    if not prompt.fingerprint:
        raise ModelFilesError(f"the weights of {model} have no fingerprint to keep a voice for.")
    voice = Voice(label, prompt, Origin("", consent or "", today()))
    check_arrays(voice, label)
    return NewVoice(
        label=label,
        clips=(),
        source=VoiceSource(SourceKind.IMPORT, model=model),
        consent=given_today(consent),
        prompts=(NewPrompt(_AUTO, voice),),
    )


def label_from(word: str) -> str:
    """A label made of a word from elsewhere, whatever it is: a file's name, or a label there."""
    try:
        return checked_label(word.replace("_", " ")[: LONGEST_LABEL - 8])
    except InvalidValueError:
        return _UNNAMED


def _is_day(text: str) -> bool:
    parts = text.split("-")
    return [len(part) for part in parts] == [4, 2, 2] and all(map(str.isdecimal, parts))
