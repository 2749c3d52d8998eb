"""Exact mode gives what upstream gives: ids and codes equal, all else within 1e-5 (relative L2)."""

import re
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.parity.distance import relative_l2
from tests.parity.echo_tts import recorded
from tests.parity.echo_tts.cases import PIPELINE, SAMPLER
from tests.parity.echo_tts.recorded import BOUND
from tests.parity.echo_tts.sides import RUNS, Outputs, Run, both
from tests.parity.processes import once
from tests.parity.table import Verdict

pytestmark = pytest.mark.parity

BF16_BOUND = 0.02  # of two correct roundings; float32 and bfloat16 are 0.018 apart
WHOLE = RUNS[0]
SAMPLED = [(run, name) for run in RUNS for name in run.sampler]
SPOKEN = [(run, name) for run in RUNS for name in run.pipeline]


@pytest.fixture(scope="session")
def outputs_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Run], Outputs]:
    """What both sides made of a run, made when it is first asked for."""
    return once(lambda run: both(run, tmp_path_factory.mktemp("parity")))


def identifier(value: object) -> str:
    return value.name if isinstance(value, Run) else str(value)


def judge(verdicts: list[Verdict], found: list[Verdict]) -> None:
    verdicts += found
    assert all(verdict.passed for verdict in found), [v for v in found if not v.passed]


def apart(ours: NDArray[np.generic], theirs: NDArray[np.generic]) -> float:
    """How far two arrays are apart; axes of length one mean nothing."""
    return relative_l2(np.squeeze(ours), np.squeeze(theirs))


def grouped(run: Run, found: Mapping[str, float]) -> list[Verdict]:
    """One verdict for each kind of module: the worst of all its layers."""
    worst: dict[str, float] = {}
    for name, distance in found.items():
        kind = re.sub(r"\bblocks\.\d+\b|(?<=kv\.)(\w+)\.\d+", _without_number, name)
        worst[kind] = max(worst.get(kind, 0.0), distance)
    return [Verdict(_run(run), kind, None, distance, BOUND) for kind, distance in worst.items()]


def _without_number(match: re.Match[str]) -> str:
    return re.sub(r"\d+", "*", match.group())


def _run(run: Run) -> str:
    return f"echo, {run.name}"


@pytest.mark.parametrize("what", ["ids", "words", "cut"])
def test_texts_become_upstreams_ids(
    what: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(WHOLE).arrays("text")
    names = [name for name in theirs if name.startswith(what)]
    assert len(names) >= (3 if what == "cut" else 2000)
    equal = all(np.array_equal(theirs[name], ours[name]) for name in names)
    judge(verdicts, [Verdict(_run(WHOLE), f"text: {len(names)} {what}", equal, 0.0)])


@pytest.mark.parametrize("run", RUNS, ids=identifier)
def test_every_stage_of_the_codec_is_upstreams(
    run: Run, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(run).arrays("codec")
    equal = np.array_equal(theirs.pop("codes"), ours.pop("codes"))
    found = [Verdict(_run(run), "codec: codes", equal, 0.0)]
    assert theirs.keys() - ours.keys() == {"quantizer.semantic_quantizer", "quantizer.quantizer"}
    found += [
        Verdict(_run(run), f"codec: {name}", None, apart(ours[name], theirs[name]), BOUND)
        for name in ours
    ]
    judge(verdicts, found)


def test_references_become_upstreams_latents(
    outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(WHOLE).arrays("speakers")
    found = []
    for name, latents in ours.items():
        n_true = int(theirs[f"{name}.n_true"])
        assert len(latents) == n_true - n_true % 4
        distance = apart(latents, theirs[name][: len(latents)])
        found.append(Verdict(_run(WHOLE), f"reference: {name}", None, distance, BOUND))
    assert len(found) == 9
    judge(verdicts, found)


@pytest.mark.parametrize("run", RUNS, ids=identifier)
def test_every_module_of_the_transformer_is_upstreams(
    run: Run, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(run).arrays("blocks")
    # Upstream's is called once for each context, and only the last call's output is known.
    shared = {name for name in ours if name.startswith("cond.") and name.endswith(".k_norm")}
    # The activations between the projections of the timestep are no modules here.
    only_theirs = {"plain.cond_module.1", "plain.cond_module.3"}
    assert theirs.keys() - ours.keys() <= only_theirs
    only_recorded = {"block.v_pred"}
    compared = ours.keys() - shared - only_recorded
    found = {name: apart(ours[name], theirs[name]) for name in compared}
    assert len(found) > 150
    judge(verdicts, grouped(run, dict(sorted(found.items()))))


@pytest.mark.parametrize(("run", "case"), SAMPLED, ids=identifier)
def test_a_sampler_run_is_upstreams(
    run: Run, case: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(run).arrays("sampler")
    distance = apart(ours[case], theirs[case])
    judge(verdicts, [Verdict(_run(run), f"sampler: {case}", None, distance, BOUND)])


@pytest.mark.parametrize("case", ["seed_1234", "no_speaker", "batch"])
def test_other_seeds_a_batch_and_no_speaker_are_upstreams(
    case: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(WHOLE).arrays("sampler")
    distance = apart(ours[case], theirs[case])
    judge(verdicts, [Verdict(_run(WHOLE), f"sampler: {case}", None, distance, BOUND)])


def test_the_transformer_in_bfloat16_is_near_upstreams(
    outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(WHOLE).arrays("bf16")
    found = [
        Verdict(_run(WHOLE), f"bf16: {name}", None, apart(ours[name], theirs[name]), BF16_BOUND)
        for name in theirs
    ]
    judge(verdicts, found)


@pytest.mark.parametrize(("run", "case"), SPOKEN, ids=identifier)
def test_a_whole_request_is_upstreams(
    run: Run, case: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(run).arrays("pipeline")
    found = [
        Verdict(_run(run), f"speak: {case}, {part}", None,
                apart(ours[f"{case}.{part}"], theirs[f"{case}.{part}"]), BOUND)
        for part in ("latents", "samples")
    ]  # fmt: skip
    judge(verdicts, found)


def test_files_are_read_as_upstream_reads_them(
    outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, ours = outputs_of(WHOLE).arrays("files")
    found = [
        Verdict(_run(WHOLE), f"file: {name}", None, apart(ours[name], theirs[name]), BOUND)
        for name in theirs
    ]
    judge(verdicts, found)


def test_what_upstreams_package_lacks_is_as_recorded(
    outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    outputs = outputs_of(WHOLE)
    blockwise, sampler = recorded.read("blockwise"), recorded.read("sampler")
    kept = {
        "blockwise": {**blockwise, "joint": sampler["joint"]},
        "resampled": recorded.read("files"),
        "blocks": {"block.v_pred": recorded.read("blocks")["block.v_pred"]},
    }
    found = [
        Verdict(_run(WHOLE), f"recorded: {name}", None, distance, BOUND)
        for group, arrays in kept.items()
        for name, distance in recorded.distances(outputs.only_ours(group), arrays).items()
    ]
    assert len(found) == 9 + 3 + 1
    judge(verdicts, found)


@pytest.mark.parametrize("group", ["blocks", "codec", "pipeline", "sampler"])
def test_the_kept_numbers_are_still_upstreams(
    group: str, outputs_of: Callable[[Run], Outputs], verdicts: list[Verdict]
) -> None:
    theirs, _ = outputs_of(WHOLE).arrays(group)
    distances = recorded.distances(theirs, recorded.read(group))
    assert len(distances) >= {"blocks": 90, "codec": 20, "pipeline": 10, "sampler": 20}[group]
    worst = max(distances.values())
    what = f"kept {group}: {len(distances)} arrays"
    judge(verdicts, [Verdict(_run(WHOLE), what, None, worst, BOUND)])


def test_all_cases_are_run() -> None:
    assert set(WHOLE.sampler) == SAMPLER.keys()
    assert len(WHOLE.sampler) == 20
    assert set(WHOLE.pipeline) == PIPELINE.keys()
