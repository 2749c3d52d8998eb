import shlex

import pytest

from menura.cli.voice_words import meaning_of, named, shadow_note, spoken_as
from tests.kept_voices import kept


@pytest.mark.parametrize(
    "label", ["Anna", "Anna, calm", "$(touch pwn)", "`id`", 'q"; x #', "a'b", "Jürgen", "!!", "*"]
)
def test_a_name_is_one_word_of_a_shell(label: str) -> None:
    voice = kept(label)
    assert shlex.split(named(voice)) == [label]
    assert shlex.split(spoken_as(voice)) == [label]
    assert shadow_note(voice) == ""


@pytest.mark.parametrize("label", ["Anna", "anna_2", "a.b"])
def test_a_plain_name_is_not_quoted(label: str) -> None:
    assert named(kept(label)) == label


@pytest.mark.parametrize("label", ["-v", "--all", "-"])
def test_a_name_like_a_flag_is_told_by_its_id(label: str) -> None:
    voice = kept(label)
    assert named(voice) == spoken_as(voice) == voice.id


@pytest.mark.parametrize(
    "label",
    ["heart", "HEART", "ｈｅａｒｔ", "alloy", "tts-1-hd", "gpt-4o-mini-tts", "builtin",
     "builtin: x", "x.safetensors"],
)  # fmt: skip
def test_a_name_that_means_something_else_is_told_with_the_one_that_does_not(label: str) -> None:
    voice = kept(label)
    assert meaning_of(label)
    assert shlex.split(spoken_as(voice)) == [f"lib:{label}"]
    assert f"-v {spoken_as(voice)}" in shadow_note(voice)
