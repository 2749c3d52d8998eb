"""Which model speaks with a voice of the library where --model was not given.

The voice's own model (`menura voices edit NAME --default-model`), or that of the preset it was made
from; else the default model, where it speaks like a recording; else the one model on this machine
that does.
"""

from collections.abc import Iterator
from dataclasses import replace

from menura import api, catalogue, models, settings, voice_files
from menura.catalogue import CLONE, KnownModel, known_models
from menura.cli.reports import warn
from menura.cli.say import SayFlags
from menura.cli.voice_words import named
from menura.errors import MenuraError, UnsupportedError
from menura.voice_library import own_models
from menura.voice_library.labels import LIBRARY_PREFIX
from menura.voice_library.library import LibraryVoice, VoiceLibrary


def with_model(flags: SayFlags) -> SayFlags:
    """The flags, with the model that the voice asks for where --model was not given.

    Raises: UnsupportedError: several models could speak with it, or none on this machine.
    """
    if flags.model is not None or not flags.voice:
        return flags
    if voice_files.names_file(flags.voice):
        return flags
    library = VoiceLibrary()
    if not library.has(flags.voice) or _is_preset(flags.voice):
        return flags
    voice = library.find(flags.voice)
    model, wanted = model_for(voice), voice.record.defaults.model
    if wanted is not None and own_models.model_of(library, voice) is None:
        warn(
            f"the model that came with the voice is not taken ({wanted:.80}); to choose one: "
            f"menura voices edit {named(voice)} --default-model MODEL"
        )
    return replace(flags, model=model)


def model_for(voice: LibraryVoice) -> str | None:
    """The model that speaks with the voice where none is named; None means the default one.

    Raises: UnsupportedError: as `with_model`.
    """
    own = own_models.model_of(VoiceLibrary(), voice)
    known = catalogue.lookup(settings.load().default_model)
    if own is not None or known is None or CLONE in known.capabilities:
        return own
    able = [model.name for model in models_here() if CLONE in model.capabilities]
    if len(able) == 1:
        return able[0]
    raise _no_choice(voice, able)


def models_here() -> Iterator[KnownModel]:
    """The known models that are wholly on this machine, in the catalogue's order."""
    for known in known_models():
        if models.show(known.name).is_complete:
            yield known


def _is_preset(word: str) -> bool:
    """Whether the word means a voice of the default model, which wins over the library's."""
    if word.casefold().startswith(LIBRARY_PREFIX):
        return False
    try:
        presets = api.describe().voices
    except MenuraError:  # the voice may have a model of its own, and that one will do
        return False
    return word.casefold() in {preset.name.casefold() for preset in presets}


def _no_choice(voice: LibraryVoice, able: list[str]) -> UnsupportedError:
    if able:
        what = f"several on this machine can: {', '.join(able)}. Give --model, or choose for good"
        first = able[0]
    else:
        known = [model.name for model in known_models() if CLONE in model.capabilities]
        first = known[0]
        what = f"none is on this machine. Bring one with: menura models pull {first}. Then choose"
    return UnsupportedError(
        f"the voice {voice.label!r} needs a model that speaks like a recording, and {what}: "
        f"menura voices edit {named(voice)} --default-model {first}",
        param="--model",
        needs=CLONE,
    )
