"""The word that means a voice of the library on a command line, and what its label may mean there.

A label is free text. Where it means something else to `menura say`, `lib:LABEL` means the voice;
where it looks like a flag, its id does.
"""

from menura import api, catalogue, voice_files
from menura.cli.terminal import visible
from menura.errors import MenuraError, shell_word
from menura.server.models.voice_names import OPENAI_MODELS, OPENAI_VOICES
from menura.voice_library.labels import LIBRARY_PREFIX, folded
from menura.voice_library.library import LibraryVoice


def named(voice: LibraryVoice) -> str:
    """The voice after the verbs of `menura voices`, as it is typed into a shell."""
    return shell_word(voice.id if _is_like_a_flag(voice.label) else visible(voice.label))


def spoken_as(voice: LibraryVoice) -> str:
    """The voice after `menura say -v`, as it is typed into a shell."""
    if meaning_of(voice.label):
        return shell_word(f"{LIBRARY_PREFIX}{visible(voice.label)}")
    return named(voice)


def shadow_note(voice: LibraryVoice) -> str:
    """What the voice's label alone means, and how to speak with it then; else nothing."""
    if not (meaning := meaning_of(voice.label)):
        return ""
    return f"{visible(voice.label)!r} alone {meaning}: speak with it as -v {spoken_as(voice)}"


def meaning_of(label: str) -> str:
    """What the label means where a voice is asked for, other than the voice; empty if nothing."""
    word = folded(label)
    if word.endswith(voice_files.ENDING):
        return "means a file"
    if word in OPENAI_VOICES:
        return "is one of OpenAI's names, which mean a model's own voices on a server"
    if word.startswith(OPENAI_MODELS) or catalogue.lookup(word) is not None:
        return "is the name of a model"
    if catalogue.lookup(word.partition(":")[0]) is not None:
        return "means a model and a voice of it on a server"
    try:
        spec = api.describe()
    except MenuraError:  # it has no voices to speak of, then
        return ""
    is_preset = any(folded(preset.name) == word for preset in spec.voices)
    return f"is a voice of {spec.model}" if is_preset else ""


def _is_like_a_flag(label: str) -> bool:
    return label.startswith("-")
