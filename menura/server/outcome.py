"""What came of a speech, as every way to hear one tells it: in headers, events and messages."""

import dataclasses
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from menura.server.field_names import OF_SPEECH, field_of
from menura.server.models.performance import Performance

# Names longer than that are cut: proxies limit headers.
_MAX_HEADER = 1_024
_PLAIN_IN_A_HEADER = "!#$&'()*+-./:;<=>?@[]^_`{|}~"  # what joins names is not among them


def usage(n_characters: int, seconds: float) -> dict[str, int]:
    """What OpenAI's clients read as tokens: characters in, hundredths of a second of audio out."""
    n_in, n_out = n_characters, round(100 * seconds)
    return {"input_tokens": n_in, "output_tokens": n_out, "total_tokens": n_in + n_out}


def outcome(
    performance: Performance, *, rate_hz: int, seconds: float, ignored: Iterable[str]
) -> dict[str, object]:
    """What came of a speech, as JSON; `rate_hz` is that of the samples that were encoded."""
    return {
        "finish": performance.finish,
        "model": performance.begun.model,
        "voice": performance.begun.voice,
        "seed": performance.begun.seed,
        "sample_rate_hz": rate_hz,
        "seconds": round(seconds, 6),
        "ignored": without_effect(performance, ignored),
        "applied": dict(performance.applied),
        "segments": [dataclasses.asdict(report) for report in performance.segments],
    }


def without_effect(performance: Performance, ignored: Iterable[str]) -> list[str]:
    """The fields that were given and have no effect, by the names that clients know."""
    left_out = performance.begun.applied.get("ignored")
    by_model = [str(name) for name in left_out] if isinstance(left_out, Mapping) else []
    named = [field_of(name, OF_SPEECH) for name in by_model]
    return list(dict.fromkeys([*ignored, *named]))


def in_a_header(names: Iterable[str]) -> str:
    """The names as one header, joined by `, `: percent-encoded beyond ASCII, cut where too long.

    An empty name is `''`, for no header may end with a space.
    """
    text = ", ".join(quote(name, safe=_PLAIN_IN_A_HEADER) or "''" for name in names)
    return text if len(text) <= _MAX_HEADER else f"{text[: _MAX_HEADER - 3]}..."
