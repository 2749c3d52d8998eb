import json
from pathlib import Path

import pytest
import torch

from menura.engines.qwen3_tts.prompt import IN_CONTEXT, X_VECTOR, Layout, Wording, build
from menura.engines.qwen3_tts.prompt_rows import PromptRows, embed, embed_more
from menura.engines.qwen3_tts.prompt_stream import PromptStream
from menura.speech import Manner
from tests.unit.engines.qwen3_tts.tiny_parts import Loaded, cloned, loaded, manner

# The first number of every row, recorded from upstream (qwen-tts 0.1.1) on these checkpoints.
GOLDEN = json.loads(Path(__file__).with_name("golden_rows.json").read_text("utf-8"))["prompts"]
TEXT = "Hello world, the thing."
WHOLE, STREAMING = Layout.WHOLE, Layout.STREAMING
CUSTOM, SMALL_BASE = ("custom_voice", "1b7"), ("base", "0b6")


def _embed(model: Loaded, text: str, how: Manner, layout: Layout) -> PromptRows:
    prompt = build(text, how, model.config, model.tokenizer, Wording(layout))
    return embed(prompt, model.config, model.parts.talker, model.parts.code_predictor)


@pytest.mark.parametrize(
    ("name", "model", "how", "layout"),
    [
        ("preset", CUSTOM, manner("ryan", "english"), WHOLE),
        ("preset_streaming", CUSTOM, manner("ryan", "english"), STREAMING),
        ("instruct", CUSTOM, manner("vivian", instruct="the user"), WHOLE),
        ("dialect", CUSTOM, manner("eric"), WHOLE),
        ("no_speaker", CUSTOM, manner(), WHOLE),
        ("instruct_dropped", ("custom_voice", "0b6"), manner("ryan", instruct="the user"), WHOLE),
        ("design", ("voice_design", "1b7"), manner(instruct="the user"), WHOLE),
        ("in_context_short", SMALL_BASE, manner(cloned(IN_CONTEXT, 30, seed=1)), STREAMING),
        ("in_context_long", SMALL_BASE, manner(cloned(IN_CONTEXT)), STREAMING),
        ("in_context_whole", SMALL_BASE, manner(cloned(IN_CONTEXT)), WHOLE),
        ("x_vector", SMALL_BASE, manner(cloned(X_VECTOR)), STREAMING),
    ],
)
def test_the_rows_are_upstreams(
    name: str, model: tuple[str, str], how: Manner, layout: Layout
) -> None:
    got = _embed(loaded(*model), TEXT, how, layout)
    assert got.rows[:, 0].tolist() == pytest.approx(GOLDEN[name]["rows"], abs=1e-5)
    assert got.trailing[:, 0].tolist() == pytest.approx(GOLDEN[name]["trailing"], abs=1e-5)


def test_a_text_without_ids_speaks_the_end_of_the_turn() -> None:
    got = _embed(loaded(*CUSTOM), "\n", manner("ryan"), STREAMING)
    golden = GOLDEN["empty_streaming"]
    assert got.rows[:, 0].tolist() == pytest.approx(golden["rows"], abs=1e-5)
    assert got.trailing[:, 0].tolist() == pytest.approx(golden["trailing"], abs=1e-5)


@pytest.mark.parametrize("how", [manner(cloned(X_VECTOR)), manner(cloned(IN_CONTEXT))])
def test_a_streamed_text_gives_the_rows_of_the_whole_however_it_is_cut(how: Manner) -> None:
    model = loaded(*SMALL_BASE)
    whole = _embed(model, TEXT, how, STREAMING)
    talker, predictor = model.parts.talker, model.parts.code_predictor
    seen = []
    for size in (1, 4, 100):
        open_prompt = build(None, how, model.config, model.tokenizer, Wording(STREAMING))
        stream = PromptStream(open_prompt, model.tokenizer)
        started = None
        for start in range(0, len(TEXT), size):
            stream.add(TEXT[start : start + size])
            started = started or stream.start()
        stream.close()
        if started is None:
            started = stream.start()
        assert started is not None
        rows = embed(started, model.config, talker, predictor)
        more = embed_more(stream.take(), talker) if started.is_open else rows.trailing[:0]
        ends = [rows.end[None]] if started.is_open else []
        everything = torch.cat([rows.rows, rows.trailing, more, *ends])
        seen.append(everything)
        expected = torch.cat([whole.rows, whole.trailing])
        torch.testing.assert_close(everything, expected, rtol=0, atol=1e-5)
    assert torch.equal(seen[0], seen[1])
    assert torch.equal(seen[0], seen[2])


def test_no_later_ids_are_no_rows() -> None:
    talker = loaded(*SMALL_BASE).parts.talker
    assert embed_more((), talker).shape == (0, 32)


@pytest.mark.parametrize(
    ("model", "how", "layout", "n_fixed"),
    [
        (CUSTOM, manner("ryan"), WHOLE, 3 + 5),
        (CUSTOM, manner("ryan", "english"), STREAMING, 3 + 6),
        (SMALL_BASE, manner(cloned(X_VECTOR)), STREAMING, 3 + 5),
        (SMALL_BASE, manner(cloned(IN_CONTEXT, 30)), STREAMING, None),
        (SMALL_BASE, manner(cloned(IN_CONTEXT, 1)), STREAMING, None),
        (SMALL_BASE, manner(cloned(IN_CONTEXT)), WHOLE, None),
    ],
)
def test_the_fixed_rows_are_the_same_whatever_the_text_is(
    model: tuple[str, str], how: Manner, layout: Layout, n_fixed: int | None
) -> None:
    found = loaded(*model)
    talker, predictor = found.parts.talker, found.parts.code_predictor
    prompts = []
    for text in (TEXT, "你好", TEXT * 5):
        plan = build(text, how, found.config, found.tokenizer, Wording(layout))
        prompts.append(embed(plan, found.config, talker, predictor, apart=True))
    [n_rows] = {prompt.n_fixed for prompt in prompts}
    assert n_rows == n_fixed or n_fixed is None
    assert all(n_rows < len(prompt.rows) for prompt in prompts)
    assert all(torch.equal(prompt.rows[:n_rows], prompts[0].rows[:n_rows]) for prompt in prompts)
    first, second = (prompt.rows[n_rows] for prompt in prompts[:2])
    assert not torch.equal(first, second) or len(prompts[0].rows) == n_rows + 1


def test_apart_or_together_the_rows_are_nearly_the_same() -> None:
    found = loaded(*SMALL_BASE)
    how = manner(cloned(IN_CONTEXT))
    plan = build(TEXT, how, found.config, found.tokenizer, Wording(WHOLE))
    parts = (found.config, found.parts.talker, found.parts.code_predictor)
    apart, together = embed(plan, *parts, apart=True), embed(plan, *parts)
    torch.testing.assert_close(apart.rows, together.rows, rtol=0, atol=1e-5)
    assert apart.n_fixed == together.n_fixed
