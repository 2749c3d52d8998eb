"""Upstream's numbers on the tiny checkpoint, kept in files: the default tests need no upstream.

    python -m tests.parity.echo_tts.recorded ORACLE_OUT

writes them anew from the recordings of the oracle (its `run_oracle.py` and `quirks.py`). Those of
the blockwise and joint samplers, and of torchaudio's resampler, are nowhere else: upstream's
package on PyPI has neither. `make parity` compares all others with upstream as it runs. Names are
those of the live comparison. Of a large array every k-th number is kept, in its flat order. The
clips are not kept: `cases.py` draws them again.
"""

import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from tests.house.source import ROOT
from tests.parity.distance import relative_l2
from tests.parity.echo_tts import cases

Arrays = dict[str, NDArray[np.generic]]
FOLDER = ROOT / "tests" / "unit" / "engines" / "echo_tts" / "recorded"
GROUPS = ("blocks", "blockwise", "codec", "files", "pipeline", "sampler", "speakers")
RULES = "flattening_and_schedule.json"  # tables of numbers, kept as they are
MOST_NUMBERS = 8192
BOUND = 1e-5  # relative L2
_WHOLE = ("plain", "timestep", "rope")
_DEEP = ("plain.blocks.1.", "plain.blocks.2.")  # as the first block: only their outputs are kept


def read(group: str) -> Arrays:
    """The kept arrays of a group by the names of the live comparison."""
    with np.load(FOLDER / f"{group}.npz") as found:
        return dict(found)


def thinned(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """The numbers [...] of a small array, or every k-th number [n] of a large one."""
    if array.size <= MOST_NUMBERS:
        return array
    return array.ravel()[:: array.size // MOST_NUMBERS | 1]


def distances(ours: Mapping[str, NDArray[np.generic]], kept: Arrays) -> dict[str, float]:
    """How far each of our arrays [...] lies from the kept one (relative L2), by name.

    Axes of length one mean nothing: upstream has more of them.
    """
    return {
        name: relative_l2(np.squeeze(_as_kept(ours[name], kept[name])), np.squeeze(kept[name]))
        for name in kept.keys() & ours.keys()
    }


def _as_kept(ours: NDArray[np.generic], kept: NDArray[np.generic]) -> NDArray[np.generic]:
    return ours if ours.size == kept.size else thinned(ours)


def main(oracle_out: str) -> None:
    """Write the selection."""
    source = Path(oracle_out)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for group in GROUPS:
        found = {
            name: array if group == "files" else thinned(array)
            for name, array in _READERS[group](source)
        }
        np.savez_compressed(FOLDER / f"{group}.npz", allow_pickle=False, **found)
    shutil.copyfile(source / "misc.json", FOLDER / RULES)


def _rows(path: Path) -> Mapping[str, NDArray[np.generic]]:
    """The arrays of a recording, without the leading axis of one row."""
    return {
        name: array[0] if array.ndim > 1 and array.shape[0] == 1 else array
        for name, array in load_file(path).items()
    }


def _blocks(source: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    found = _rows(source / "blocks.safetensors")
    n_ids = int(found["in.text_mask"].sum())
    yield "ids", found["in.text_ids"][:n_ids].astype(np.int64)
    yield "speaker", found["in.speaker_latent"]
    for name, array in found.items():
        root = name.split(".")[0]
        if root in ("cond", "kv"):
            # The oracle pads the text to 40 ids; what it makes of the padding means nothing.
            is_text = "text" in name
            yield name, array[:n_ids] if is_text else array
        elif not name.startswith(_DEEP) and (root in _WHOLE or name == "block.v_pred"):
            yield name, array


def _sampler(source: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    for name, array in _rows(source / "sampler.safetensors").items():
        kind, _, case = name.partition(".")
        if kind == "out":
            yield "batch" if case == "batch2" else case, array
        elif kind == "bf16":
            yield name, array


def _blockwise(source: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    found = _rows(source / "blockwise.safetensors")
    return ((name, found[f"out.{name}"]) for name in cases.BLOCKWISE)


def _codec(source: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    found = _rows(source / "codec.safetensors")
    yield "codes", found["encode.codes"].T
    yield "z_q", found["encode.z_q"].T
    yield "latents", found["pca.forward"]
    yield "z_q_of_latents", found["pca.inverse"]
    yield "decoded", found["decode.audio"][0]
    yield "reconstructed", found["reconstruct"][0]
    yield "decoded_random", found["decode.random_latent"][0]
    yield "decoded_flat", _rows(source / "pipeline.safetensors")["crop.audio"][0]
    for name, array in found.items():
        _, _, stage = name.partition(".")
        if stage.startswith(("encoder", "quantizer", "decoder")):
            yield stage, array


def _speakers(source: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    found = _rows(source / "codec.safetensors")
    for name in ("short", "no_patch_trim", "small_chunks"):
        yield name, found[f"speaker.{name}.latent"]


def _pipeline(source: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    found = _rows(source / "pipeline.safetensors")
    for name in ("text_only", "short", "text_bucket", "speaker_bucket", "raw_text"):
        yield f"{name}.latents", found[f"{name}.latent"]
        yield f"{name}.samples", found[f"{name}.audio"][0]


def _files(source: Path) -> Iterator[tuple[str, NDArray[np.generic]]]:
    found = load_file(source / "audio.safetensors")
    for name in cases.RESAMPLED:
        yield f"{name}.file", found[f"{name}.file"].T
        yield name, found[f"{name}.loaded"][0]


_READERS = {
    "blocks": _blocks,
    "blockwise": _blockwise,
    "codec": _codec,
    "files": _files,
    "pipeline": _pipeline,
    "sampler": _sampler,
    "speakers": _speakers,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
