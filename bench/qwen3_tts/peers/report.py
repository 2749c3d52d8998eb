"""The table of `side_by_side`: a row for each side, beside what the machine can do at most."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from bench.qwen3_tts.peers.sides import Side
from bench.qwen3_tts.peers.work import Work, least_s

OURS = "ours auto"
Figures = Mapping[str, float]
_HEAD = (
    f"{'side':<15}{'ms a frame':>11}{'CPU ms':>9}{'x ours':>8}{'RTF':>7}{'limit':>7}"
    f"{'LM ms':>8}{'limit':>7}{'codec ms':>10}{'limit':>7}{'first s':>9}{'x ours':>8}"
    f"{'import s':>10}{'load s':>8}{'peak MB':>9}{'frames':>8}"
)
_FRAME_S = 0.08


def shares(runs: Sequence[Figures], side: Side, work: Work, limits: Figures) -> dict[str, float]:
    """What part of the machine's limit a side reaches: whole, and in each part that it shows.

    1 is the least time in which this machine can read the weights in that format, and compute the
    codec; a whole frame may do both at once, so that the longer one is its least.
    """
    reading_s, computing_s = least_s(work, limits, side.weight_bits, side.codec)
    least = {"wall_frame_s": max(reading_s, computing_s), "frame_s": reading_s,
             "codec_frame_s": computing_s}  # fmt: skip
    return {name: value / middle(runs, name) for name, value in least.items() if name in runs[0]}


def middle(runs: Sequence[Figures], name: str) -> float:
    """The median of one figure."""
    return median(run[name] for run in runs)


def table(result: Mapping[str, Any]) -> str:
    """The result in words."""
    machine, limits, work = result["machine"], result["limits"], result["work"]
    where = f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}"
    products = ", ".join(
        f"{name} {limits[key]:.0f}"
        for name, key in (
            ("fp32", "fp32_gflop_s"),
            ("bf16", "bf16_gflop_s"),
            ("int8", "int8_gop_s"),
        )
    )
    weights, codec = work["n_weights"] / 1e6, work["codec_flop"] / 1e9
    lines = [
        f"{result['case']}: {result['about']}",
        f"{where}, load {machine['load_before']:.1f}, {result['date']}",
        f"limits: reading {limits['read_gb_s']:.1f} GB/s, matrix products {products} G/s",
        f"a frame: {weights:.0f} M weights read, {codec:.2f} GFLOP of the codec",
        _HEAD,
    ]
    lines += [_row(name, result) for name in result["runs"]]
    if result.get("calm_gb_s"):
        lines += _in_calm(result["runs"], result["calm_gb_s"])
    for name, reason in result["absent"].items():
        lines.append(f"{name} is missing: {reason.splitlines()[-1]}")
    return "\n".join(lines)


def _in_calm(runs: Mapping[str, Sequence[Figures]], calm_gb_s: float) -> list[str]:
    """The ratios of those turns at which memory was fast before and after both sides."""
    lines = []
    for name in [name for name in runs if name != OURS]:
        pairs = [
            run["wall_frame_s"] / own["wall_frame_s"]
            for run, own in zip(runs[name], runs[OURS], strict=True)
            if min(run["read_around_gb_s"], own["read_around_gb_s"]) >= calm_gb_s
        ]
        ratio = f"{median(pairs):.2f} x ours" if pairs else "no ratio"
        lines.append(f"{name}: {ratio} of {len(pairs)} turns, {calm_gb_s:.0f} GB/s around both")
    return lines


def _row(name: str, result: Mapping[str, Any]) -> str:
    runs, ours = result["runs"][name], result["runs"][OURS]
    process, share = result["processes"][name], result["shares"][name]
    frame_s = middle(runs, "wall_frame_s")
    row = f"{name:<15}{frame_s * 1e3:>11.1f}{middle(runs, 'cpu_frame_s') * 1e3:>9.1f}"
    row += f"{_ratio(runs, ours, 'wall_frame_s'):>8.2f}{frame_s / _FRAME_S:>7.2f}"
    row += f"{share['wall_frame_s']:>7.0%}"
    for part, width in (("frame_s", 8), ("codec_frame_s", 10)):
        if part in share:
            row += f"{middle(runs, part) * 1e3:>{width}.1f}{share[part]:>7.0%}"
        else:
            row += f"{'-':>{width}}{'-':>7}"
    row += f"{middle(runs, 'first_audio_s'):>9.3f}{_ratio(runs, ours, 'first_audio_s'):>8.2f}"
    row += f"{process['import_s']:>10.2f}{process['load_s']:>8.2f}{process['peak_mb']:>9.0f}"
    return row + f"{middle(runs, 'frames'):>8.0f}"


def _ratio(runs: Sequence[Figures], ours: Sequence[Figures], name: str) -> float:
    """The median of the ratios turn by turn."""
    return median(run[name] / own[name] for run, own in zip(runs, ours, strict=True))
