"""Which model a voice may choose by itself: one that has a name, never a place in somebody's words.

A voice's record may come from a stranger, and so may a folder that is copied in. A folder with a
model counts only where the library's own list says that its user chose it for this voice.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from menura import catalogue, model_choice, models
from menura.engines.contract import EngineSpec
from menura.errors import InvalidValueError, MenuraError, ModelNotFoundError
from menura.runtime.whole_file import whole_file
from menura.store.resolve import is_hub_id
from menura.voice_library import plain_files
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import SourceKind

CHOSEN_FILE = ".models.json"
_MAX_BYTES = 2**20


def named(model: str | None) -> str | None:
    """The model of this name: one of the catalogue, or one on this machine by its hub id.

    None where the word is neither, but a place; what lies in the current folder is one too.
    """
    if not model:
        return None
    if (known := catalogue.lookup(model)) is not None:
        return known.name
    if not is_hub_id(model):
        return None
    try:
        found = models.show(model)
    except ModelNotFoundError:
        return None
    return found.name if found.source is models.Source.CACHE else None


def model_of(library: VoiceLibrary, voice: LibraryVoice) -> str | None:
    """The model that the voice is to be spoken with, or None where it does not say, or may not."""
    source, wanted = voice.record.source, voice.record.defaults.model
    if wanted is None:
        return named(source.model) if source.kind is SourceKind.PRESET else None
    return wanted if _chosen(library.folder).get(voice.id) == wanted else named(wanted)


def choose(library: VoiceLibrary, voice: LibraryVoice) -> None:
    """Nothing; the folder that stands in the voice's record counts, for its user chose it here.

    Raises: DiskFullError, OutputError, WaitError: as `VoiceLibrary.edit`.
    """
    wanted = voice.record.defaults.model
    with library.writing():
        here = {found.id for found in library.voices()} - {voice.id}
        chosen = {of: model for of, model in _chosen(library.folder).items() if of in here}
        if wanted is not None and named(wanted) is None:
            chosen[voice.id] = wanted
        with whole_file(library.folder / CHOSEN_FILE, plain_files.OWN_FILE) as file:
            file.write(json.dumps(chosen, indent=2).encode())


def check_owner(folder: Path) -> None:
    """Nothing. Raises: InvalidValueError: the folder belongs to another user of the machine."""
    if os.name == "nt" or folder.stat().st_uid in (os.getuid(), 0):
        return
    raise InvalidValueError(
        f"the model folder {str(folder)!r} belongs to another user, so a voice does not take it by "
        "itself: copy it, or name it each time with --model.",
        param="model",
    )


def spec_of(model: str) -> EngineSpec | None:
    """What a model is, where it is on this machine and can be described; else None."""
    try:
        engine_class, found = model_choice.found(model)
        return engine_class.describe(found.folder, found.arguments)
    except MenuraError:
        return None


def _chosen(library: Path) -> Mapping[str, str]:
    """Voice id -> the folder that its user chose; nothing where there is no sound list."""
    try:
        found = json.loads(plain_files.read_plain(library / CHOSEN_FILE, _MAX_BYTES))
    except (OSError, ValueError, RecursionError, InvalidValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {of: model for of, model in found.items() if isinstance(model, str)}
