"""Which names a voice may have here: those by which a request would find it and nothing else."""

from menura.errors import InvalidValueError
from menura.server.models.voice_names import OPENAI_MODELS, OPENAI_VOICES
from menura.server.routes import ServerParts
from menura.server.voices.shapes import Models
from menura.voice_library.labels import checked_label, folded


def checked_name(parts: ServerParts, given: str, models: Models) -> str:
    """The name as it will be kept.

    Raises: InvalidValueError: it is no name, or it means something else on this server.
    """
    try:
        name = checked_label(given)
    except InvalidValueError as error:
        error.param = "name"
        raise
    word = folded(name)
    if word in OPENAI_VOICES:
        raise _taken(name, "is one of OpenAI's voices, which mean the models' own voices here")
    for model, facts in models:
        if facts is not None and any(folded(preset.name) == word for preset in facts.voices):
            raise _taken(name, f"is a voice of the model {model!r} already")
    if parts.names.split_voice(name)[0] is not None:
        raise _taken(name, "begins with the name of a model and a colon, which means its voices")
    if word in {folded(model) for model in (*parts.names.models(), *parts.names.aliases())}:
        raise _taken(name, "is the name of a model")
    if word.startswith(OPENAI_MODELS):
        raise _taken(name, "begins like the name of one of OpenAI's models")
    return name


def _taken(name: str, why: str) -> InvalidValueError:
    return InvalidValueError(f"name {name!r} {why}: give another name.", param="name")
