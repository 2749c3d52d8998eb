"""What a checkpoint's folders are, by the names of the files and of the tensors in them.

Transformer and autoencoder are stored under the same file name, so that only the tensors tell them
apart. Whoever mixes them up is told which of the two stands where.
"""

from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path

from menura.errors import ModelFilesError
from menura.runtime.found_tensors import Found, find_tensors, has_tensors

MODEL_STEM = "pytorch_model"
PCA_STEM = "pca_state"
MODEL_FILE = f"{MODEL_STEM}.safetensors"
PCA_FILE = f"{PCA_STEM}.safetensors"
AUTOENCODER_FOLDER = "fish-s1-dac-min"


class Part(StrEnum):
    """What a `pytorch_model.safetensors` of a checkpoint can be."""

    TRANSFORMER = "transformer"
    AUTOENCODER = "autoencoder"


# Any size of a part has all of its own, and none of the other's.
_MARKS: Mapping[Part, frozenset[str]] = {
    Part.TRANSFORMER: frozenset(
        {"in_proj.weight", "out_proj.weight", "speaker_encoder.in_proj.weight"}
    ),
    Part.AUTOENCODER: frozenset(
        {
            "quantizer.semantic_quantizer.quantizers.0.codebook.weight",
            "quantizer.quantizer.quantizers.0.codebook.weight",
            "decoder.model.0.conv.bias",
        }
    ),
}


def part_of(names: Collection[str]) -> Part | None:
    """The part that has tensors of these names; a single one that lacks hides nothing."""
    found = [part for part, marks in _MARKS.items() if len(marks.intersection(names)) > 1]
    return found[0] if len(found) == 1 else None


def find_part(folder: Path, part: Part) -> Mapping[str, Found]:
    """The tensors of a part, which must be what the folder holds.

    Raises: ModelFilesError: the file is not there or damaged, or it is the other part.
    """
    if not has_tensors(folder, MODEL_STEM):
        raise ModelFilesError(
            f"there is no {MODEL_FILE} in {folder}, so this is not the folder of the {part}."
        )
    tensors = find_tensors(folder, MODEL_STEM)
    other = part_of(tensors)
    if other is not None and other is not part:
        raise ModelFilesError(
            f"{folder / MODEL_FILE} holds the {other} of Echo-TTS, and here the {part} belongs; "
            "the two files have the same name: look whether they were swapped."
        )
    return tensors


def find_projection(folder: Path) -> Mapping[str, Found]:
    """The tensors that turn latents into the autoencoder's channels.

    Raises: ModelFilesError: the file is not there or damaged.
    """
    if not has_tensors(folder, PCA_STEM):
        raise ModelFilesError(
            f"{PCA_FILE} is missing in {folder}: it belongs to {MODEL_FILE} there. Put it beside "
            "it, or bring all of the model with: menura models pull echo-tts-base"
        )
    return find_tensors(folder, PCA_STEM)


def is_echo(folder: Path) -> bool:
    """Whether a folder holds the transformer of Echo-TTS, whole or not.

    Raises: ModelFilesError: it holds the autoencoder alone, which is no model by itself.
    """
    if (folder / PCA_FILE).is_file():
        return True
    part = _part_in(folder)
    if part is Part.AUTOENCODER:
        raise ModelFilesError(
            f"{folder} holds the autoencoder of Echo-TTS ({AUTOENCODER_FOLDER}), which is no model "
            "by itself: give the folder of echo-tts-base, with this one inside or beside it."
        )
    return part is Part.TRANSFORMER


def _part_in(folder: Path) -> Part | None:
    """The part in a folder of which nothing else is known: there may be anything in it."""
    try:
        return part_of(find_tensors(folder, MODEL_STEM))
    except ModelFilesError:
        return None


def is_autoencoder(folder: Path) -> bool:
    """Whether a folder holds the autoencoder and nothing of the model beside it."""
    return not (folder / PCA_FILE).is_file() and _part_in(folder) is not Part.TRANSFORMER


def find_autoencoder(folder: Path) -> Path | None:
    """The autoencoder's folder inside or beside that of the transformer; None if it is not there.

    It may have its published name and no files yet: what is missing is then said by its name.
    """
    beside = (folder / AUTOENCODER_FOLDER, folder.resolve().parent / AUTOENCODER_FOLDER)
    return next((found for found in beside if found.is_dir()), None)
