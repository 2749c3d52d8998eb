"""The work of `menura bench serve`: which server, which load, and the table of what it did."""

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from menura.audio.encoders import FORMATS
from menura.cli.bench_serve import BenchServeFlags
from menura.cli.load_run import Answer, Call, Place, calls, run
from menura.cli.progress import Progress
from menura.cli.terminal import emit, emit_json, emit_table, is_terminal, visible
from menura.cli.text_input import read_text
from menura.errors import InvalidValueError, MenuraError
from menura.server import state_file
from menura.server.state_file import Unusable

# A mix as apps send it: mostly one sentence, some replies of a few, now and then a paragraph.
TEXTS = (
    "Yes.",
    "The kettle is on.",
    "Turn left after two hundred metres.",
    "It is seven degrees outside, and rain is expected in the afternoon.",
    "Your parcel was handed to a neighbour. You can fetch it from six o'clock on.",
    (
        "I looked at the three offers. The second one is the cheapest, but it comes without a "
        "guarantee. I would take the first one."
    ),
    (
        "The lyrebird scratches a mound of earth in the forest and sings on it for hours. It "
        "weaves the calls of twenty other birds into its song, and now and then a camera's "
        "shutter, an axe, or the bark of a dog. Nobody has found out yet why it does so. What is "
        "known is that the young ones learn from the old ones, and that each valley has its songs."
    ),
)
_DEFAULT_VOICE = "alloy"
_DEFAULT_FORMAT = "pcm"
_STOP_S = 60
_SHARES = (50, 90, 99)


@dataclass(frozen=True)
class Result:
    """What a server did under one rate. Times in seconds; None where nothing was answered.

    `throughput`: seconds of audio that good answers brought in each second of the run, from the
    first request to the last answer. `errors`: how often which status came, with its reason.
    """

    rate: float
    requests: int
    good: int
    dry: int
    first_audio_p50_s: float | None
    first_audio_p90_s: float | None
    first_audio_p99_s: float | None
    throughput: float
    audio_s: float
    errors: dict[str, int]


def measure(flags: BenchServeFlags) -> None:
    """Nothing; what the server did stands on stdout.

    Raises: InvalidValueError: a flag is wrong, or there is no server; MenuraError: it cannot be
        started.
    """
    rates, texts = _rates(flags), _texts(flags.texts)
    formats = _formats(flags.format or [_DEFAULT_FORMAT])
    shown = is_terminal("stderr") and not flags.json
    results: list[Result] = []
    with _server(flags) as place, Progress("measuring", shown=shown) as progress:
        _warm_up(place, formats[0])
        for number, rate in enumerate(rates):
            progress.update(number, len(rates), f"{rate:g} requests a second")
            planned = list(calls(rate, flags.duration, texts, formats, flags.seed))
            results.append(result_of(rate, run(place, planned)))
    if flags.json:
        emit_json(
            {
                "address": place.address,
                "duration_s": flags.duration,
                "formats": list(formats),
                "texts": len(texts),
                "seed": flags.seed,
                "runs": [asdict(result) for result in results],
            }
        )
    else:
        _show(results)


def result_of(rate: float, answers: Sequence[Answer]) -> Result:
    """What came back in one run."""
    good = [answer for answer in answers if answer.is_good]
    first = sorted(answer.first_audio_s for answer in good)
    took_s = max((answer.call.at_s + answer.ended_s for answer in answers), default=0.0)
    audio_s = sum(answer.audio_s for answer in good)
    bad = [answer for answer in answers if not answer.is_good]
    errors = Counter(f"{answer.status or 'no answer'} {answer.reason}".strip() for answer in bad)
    p50, p90, p99 = (percentile(first, share) for share in _SHARES)
    return Result(
        rate=rate,
        requests=len(answers),
        good=len(good),
        dry=sum(answer.is_dry for answer in good),
        first_audio_p50_s=p50,
        first_audio_p90_s=p90,
        first_audio_p99_s=p99,
        throughput=round(audio_s / took_s, 3) if took_s else 0.0,
        audio_s=round(audio_s, 3),
        errors=dict(errors),
    )


def percentile(ordered: Sequence[float], share: int) -> float | None:
    """The smallest value that `share` percent of the ordered values do not exceed; None of none."""
    if not ordered:
        return None
    return round(ordered[max(math.ceil(share / 100 * len(ordered)), 1) - 1], 4)


def _show(results: Sequence[Result]) -> None:
    header = ("requests/s", "sent", "good", "dry", "first audio p50", "p90", "p99", "audio s/s")
    emit_table(
        header,
        [
            (
                f"{result.rate:g}",
                str(result.requests),
                str(result.good),
                str(result.dry),
                *map(
                    _seconds,
                    (result.first_audio_p50_s, result.first_audio_p90_s, result.first_audio_p99_s),
                ),
                f"{result.throughput:.2f}",
            )
            for result in results
        ],
        numbers=set(header),
    )
    for result in results:
        for error, count in sorted(result.errors.items()):
            emit(f"{result.rate:g} requests/s: {count} x {visible(error)}")


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f} s"


def _rates(flags: BenchServeFlags) -> list[float]:
    rates = flags.rate or [1.0]
    for name, value in [*(("--rate", rate) for rate in rates), ("--duration", flags.duration)]:
        if not (math.isfinite(value) and value > 0):
            raise InvalidValueError(
                f"{name}={value!r} is not allowed: it must be a number above 0.", param=name
            )
    return rates


def _formats(given: Sequence[str]) -> Sequence[str]:
    known = [name for name in FORMATS if name != "m4a"]
    for name in given:
        if name not in known:
            raise InvalidValueError(
                f"--format {name!r} is not one that servers speak: {', '.join(known)}.",
                param="--format",
            )
    return given


def _texts(file: Path | None) -> Sequence[str]:
    if file is None:
        return TEXTS
    lines = [line.strip() for line in read_text(None, file).splitlines() if line.strip()]
    if not lines:
        raise InvalidValueError(f"{str(file)!r} holds no text.", param="--texts")
    return lines


@contextmanager
def _server(flags: BenchServeFlags) -> Iterator[Place]:
    """The server to be measured, which is stopped afterwards if it was started for this."""
    voice = flags.voice or _DEFAULT_VOICE
    if flags.start and flags.address:
        raise InvalidValueError("give the server's URL or --start, not both.", param="--start")
    if flags.start:
        with _started(flags.model) as address:  # the model given is the default one there
            yield Place(address, None, None, voice, flags.limit)
        return
    address, key = _named(flags)
    yield Place(address, key, flags.model, voice, flags.limit)


def _named(flags: BenchServeFlags) -> tuple[str, str | None]:
    """The address and the key: those given, or those of the user's own server."""
    state = state_file.find()
    own = None if isinstance(state, Unusable) else state
    if flags.address is None and own is None:
        raise InvalidValueError(
            "no server of yours is running: give its URL, or --start to start one.", param="URL"
        )
    address = (flags.address or (own.address if own else "")).rstrip("/")
    if not address.startswith(("http://", "https://")):
        raise InvalidValueError(
            f"{address!r} is no address: give one such as http://127.0.0.1:8000.", param="URL"
        )
    if flags.key_file is not None:
        return address, read_text(None, flags.key_file).strip()
    return address, own.key if own is not None and own.address == address else None


@contextmanager
def _started(model: str | None) -> Iterator[str]:
    """The address of a server of this process's own; nobody else on this machine has its port."""
    command = [sys.executable, "-m", "menura", "serve", "--port", "0", "--no-key", "--json"]
    command += ["--preload", "--queue", "1000", "--per-key", "1000"]
    command += ["--model", model] if model else []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield _address_told_by(process)
        finally:
            process.terminate()
            process.wait(timeout=_STOP_S)


def _address_told_by(process: "subprocess.Popen[str]") -> str:
    """The address, when the server listens. Raises: MenuraError: it ended instead."""
    assert process.stdout is not None
    told = ""
    for line in process.stdout:
        told += line
        if line.rstrip() == "}":  # the end of its one JSON object
            break
    answer = json.loads(told) if told else {}
    if "address" not in answer:
        reason = answer.get("error", {}).get("message", "it said nothing")
        raise MenuraError(f"the server did not start: {reason}")
    return str(answer["address"])


def _warm_up(place: Place, audio_format: str) -> None:
    """Nothing, after the model is loaded. Raises: MenuraError: the server does not speak."""
    [answer] = run(place, [Call(0.0, TEXTS[0], audio_format)])
    if not answer.is_good:
        told = f"{answer.status or 'no answer'} {answer.reason}".strip()
        raise MenuraError(f"the server at {place.address} does not speak: {told}.")
