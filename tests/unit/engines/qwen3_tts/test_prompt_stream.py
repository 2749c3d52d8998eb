import pytest

from menura.engines.qwen3_tts.prompt import (
    IN_CONTEXT,
    Layout,
    QwenPrompt,
    Wording,
    build,
)
from menura.engines.qwen3_tts.prompt_stream import PromptStream
from menura.speech import Manner
from tests.unit.engines.qwen3_tts.tiny_parts import cloned, loaded, manner

MODEL = ("base", "0b6")


def _stream(how: Manner, *, parses: bool = False) -> PromptStream:
    model = loaded(*MODEL)
    wording = Wording(Layout.STREAMING, parses)
    prompt = build(None, how, model.config, model.tokenizer, wording)
    return PromptStream(prompt, model.tokenizer)


def _whole(text: str, how: Manner, *, parses: bool = False) -> QwenPrompt:
    model = loaded(*MODEL)
    wording = Wording(Layout.STREAMING, parses)
    return build(text, how, model.config, model.tokenizer, wording)


def test_a_row_starts_with_its_first_certain_id() -> None:
    stream = _stream(manner())
    assert stream.start() is None
    stream.add("Hello")
    assert stream.start() is None
    stream.add(" world")
    prompt = stream.start()
    assert prompt is not None
    whole = _whole("Hello world", manner())
    assert prompt.role_ids == whole.role_ids
    assert prompt.text_ids == whole.text_ids[:1]
    assert prompt.is_open
    assert stream.take() == ()
    stream.close()
    assert stream.take() == whole.text_ids[1:]
    assert stream.is_complete


@pytest.mark.parametrize("parses", [False, True])
@pytest.mark.parametrize("text", ["", "\n", "a", "<|im_end|>b", "\nHello world"])
def test_a_short_text_starts_when_it_ends(text: str, parses: bool) -> None:
    stream = _stream(manner(), parses=parses)
    stream.add(text)
    stream.close()
    prompt = stream.start()
    assert prompt is not None
    whole = _whole(text, manner(), parses=parses)
    assert (prompt.role_ids, prompt.text_ids) == (whole.role_ids, whole.text_ids)
    assert not prompt.is_open


def test_a_reference_in_context_starts_when_as_many_text_rows_are_known() -> None:
    how = manner(cloned(IN_CONTEXT, n_frames=12))
    n_reference_ids = len(_whole("", how).reference_ids)
    needed = 13 - n_reference_ids
    stream, n_given = _stream(how), 0
    while (prompt := stream.start()) is None:
        stream.add("1")
        n_given += 1
    assert len(prompt.text_ids) == needed
    assert n_given == needed + 2  # an accent may follow the last digit, and a cut needs two sides
