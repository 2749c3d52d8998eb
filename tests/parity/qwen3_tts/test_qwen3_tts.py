"""Exact mode gives what upstream gives: codes and samples, bit for bit, on the CPU in float32."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.parity.processes import once
from tests.parity.qwen3_tts import golden
from tests.parity.qwen3_tts.cases import BATCHED, SINGLE
from tests.parity.qwen3_tts.sides import RUNS, Outputs, Run, both
from tests.parity.table import Verdict

pytestmark = pytest.mark.parity

BATCH_BOUND = 1e-5
WITH_PARTS = RUNS[0]
SINGLE_CASES = [(run, case.name) for run in RUNS for case in run.cases() if not case.is_batch]
BATCHED_CASES = [(run, case.name) for run in RUNS for case in run.cases() if case.is_batch]


@pytest.fixture(scope="session")
def outputs_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Run], Outputs]:
    """What both sides made of a run, made when it is first asked for."""
    return once(lambda run: both(run, tmp_path_factory.mktemp("parity")))


def difference(one: NDArray[np.generic], other: NDArray[np.generic]) -> float:
    """The largest difference of two arrays [...]; infinite where their shapes differ."""
    if one.shape != other.shape:
        return float("inf")
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0))


def identifier(value: object) -> str:
    return value.name if isinstance(value, Run) else str(value)


def judge(verdicts: list[Verdict], verdict: Verdict) -> None:
    verdicts.append(verdict)
    assert verdict.passed, verdict


def test_there_are_as_many_cases_as_the_issue_asks_for() -> None:
    assert (len(SINGLE), len(BATCHED)) == (32, 4)


@pytest.mark.parametrize(("run", "case"), SINGLE_CASES, ids=identifier)
def test_a_single_request_is_upstreams_bit_for_bit(
    run: Run, case: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(run).arrays(case)
    assert theirs.keys() - ours.keys() <= {"embedding_0", "reference_0"}
    codes_equal = np.array_equal(theirs["codes_0"], ours["codes_0"])
    others = [name for name in ours if not name.startswith("codes")]
    largest = max(difference(theirs[name].reshape(ours[name].shape), ours[name]) for name in others)
    judge(verdicts, Verdict(run.name, case, codes_equal, largest))


@pytest.mark.parametrize(("run", "case"), BATCHED_CASES, ids=identifier)
def test_a_batch_is_upstreams_with_its_noise_split_by_rows(
    run: Run, case: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(run).arrays(case)
    names = [name for name in theirs if name.startswith(("codes", "wave"))]
    assert set(names) == ours.keys()
    codes_equal = all(
        np.array_equal(theirs[name], ours[name]) for name in names if name.startswith("codes")
    )
    largest = max(difference(theirs[name], ours[name]) for name in names if "wave" in name)
    judge(verdicts, Verdict(run.name, case, codes_equal, largest, BATCH_BOUND))


@pytest.mark.parametrize("direction", ["encode", "decode"])
def test_the_codec_alone_is_upstreams_bit_for_bit(
    direction: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(WITH_PARTS).arrays("codec")
    names = [name for name in theirs if name.startswith(direction)]
    assert len(names) >= 7
    for name in names:
        is_codes = direction == "encode"
        codes_equal = np.array_equal(theirs[name], ours[name]) if is_codes else None
        apart = difference(theirs[name], ours[name])
        judge(verdicts, Verdict(WITH_PARTS.name, f"codec {name}", codes_equal, apart))


@pytest.mark.parametrize("checkpoint", ["custom-1b7", "fullvocab-0b6"])
def test_texts_become_upstreams_ids(
    checkpoint: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(WITH_PARTS).arrays(f"text_{checkpoint}")
    assert len(theirs) == len(ours) >= 1030
    equal = all(np.array_equal(theirs[name], ours[name]) for name in theirs)
    what = f"{len(theirs)} texts, {checkpoint}"
    judge(verdicts, Verdict(WITH_PARTS.name, what, equal, 0.0))


def test_the_kept_codes_are_still_upstreams(
    outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    for name, codes in golden.read().items():
        theirs, _ = outputs_of(WITH_PARTS).arrays(name)
        equal = np.array_equal(theirs["codes_0"], codes)
        judge(verdicts, Verdict(WITH_PARTS.name, f"kept codes of {name}", equal, 0.0))
