"""The page's words: both languages have the same keys, and what a script says is in them."""

import re
from importlib.resources import files

import pytest

_ENTRY = re.compile(r'^ {2}"?([a-z_0-9.]+)"?:', re.MULTILINE)
_SAID = re.compile(r'\bt\("([a-z_0-9.]+)"')
_VALUE = re.compile(r"\{(\w+)\}")
PAGE = {entry.name: entry for entry in files("menura.webui").iterdir()}
SCRIPTS = sorted(name for name in PAGE if name.endswith(".js") and not name.startswith("words"))
ENGLISH = sorted(name for name in PAGE if re.fullmatch(r"words\w*_en\.js", name))


def _source(name: str) -> str:
    return PAGE[name].read_text(encoding="utf-8")


def _entries(name: str) -> dict[str, str]:
    """Each key of a table with the source of its words."""
    source = _source(name)
    starts = list(_ENTRY.finditer(source))
    ends = [entry.start() for entry in starts[1:]] + [len(source)]
    return {
        entry.group(1): source[entry.end() : end] for entry, end in zip(starts, ends, strict=True)
    }


@pytest.mark.parametrize("english", ENGLISH)
def test_both_languages_say_the_same_things(english: str) -> None:
    ours, theirs = _entries(english), _entries(english.replace("_en.js", "_zh.js"))
    assert ours.keys() <= theirs.keys()
    # What a server says in English is put into words in the other language alone.
    assert {key.split(".")[0] for key in theirs.keys() - ours.keys()} <= {
        "about", "code", "finding", "option_help",
    }  # fmt: skip


@pytest.mark.parametrize("english", ENGLISH)
def test_values_have_their_places_in_both_languages(english: str) -> None:
    ours, theirs = _entries(english), _entries(english.replace("_en.js", "_zh.js"))
    both = ours.keys() & theirs.keys()
    assert {key: set(_VALUE.findall(ours[key])) for key in both} == {
        key: set(_VALUE.findall(theirs[key])) for key in both
    }


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_says_only_words_that_there_are(script: str) -> None:
    known = {key for name in ENGLISH for key in _entries(name)}
    assert set(_SAID.findall(_source(script))) <= known


def test_every_table_has_words() -> None:
    assert all(len(_entries(name)) > 10 for name in ENGLISH)
