"""Whatever is asked of a desk, in whatever order: each request ends once, and all rows are free."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import menura
from menura import settings as user_settings
from menura.desk import Desk
from menura.errands import (
    Ask,
    Begun,
    Cancel,
    Ended,
    EndWords,
    Errand,
    Flush,
    GoOn,
    Hold,
    Say,
)
from menura.speech import FinishReason, SpeechRequest
from tests.tone.engine import ToneEngine, heard_hz, tone_hz
from tests.unit.letters import Letters, ended, reports_of, samples_of

_KEYS = st.integers(1, 5)
_TEXTS = st.sampled_from(
    ["one", "two three. Four five", "six FAIL", "NAN", "LIMIT", "DELAY seven", " ", "UNLUCKY eight"]
)
_ERRANDS = st.one_of(
    st.builds(Say, _KEYS, _TEXTS),
    st.builds(Flush, _KEYS),
    st.builds(EndWords, _KEYS),
    st.builds(Cancel, _KEYS),
    st.builds(Hold, _KEYS),
    st.builds(GoOn, _KEYS),
)


@st.composite
def _asks(draw: st.DrawFn) -> list[Ask]:
    keys = draw(st.lists(_KEYS, unique=True, min_size=1))
    asks = []
    for key in keys:
        words = draw(st.booleans())
        request = SpeechRequest("" if words else draw(_TEXTS), seed=key, options={"retries": 1})
        asks.append(Ask(key, request, words=words, stream=draw(st.booleans())))
    return asks


@settings(max_examples=150, deadline=None)
@given(_asks(), st.lists(st.tuples(st.integers(0, 30), _ERRANDS), max_size=25), st.integers(1, 3))
def test_each_request_ends_once_and_every_row_is_free(
    asks: list[Ask], errands: list[tuple[int, Errand]], n_rows: int
) -> None:
    engine = ToneEngine(max_rows=n_rows)
    letters = Letters(*asks)
    for look, errand in errands:
        letters.put_at(look, errand)
    events = list(Desk(menura.TTS(engine, user_settings.load()), letters).run())
    [decoder] = engine.decoders
    assert len(decoder.free_rows) == n_rows
    for ask in asks:
        end = ended(events, ask.key)
        assert isinstance(end, Ended)
        first = next(event for event in events if event.key == ask.key)
        assert isinstance(first, Begun) or end.error is not None
        reports = reports_of(events, ask.key)
        samples = samples_of(events, ask.key)
        if end.finish is FinishReason.STOP and not ask.words:
            expected = [tone_hz(word) for word in ask.request.text.split() for _ in range(2)]
            spans = [samples[report.sample_start : report.sample_end] for report in reports]
            assert heard_hz(np.concatenate(spans)) == expected
        places = [place for r in reports for place in (r.sample_start, r.sample_end)]
        assert places == sorted(places)
        assert [r.start for r in reports[1:]] == [r.end for r in reports[:-1]]
