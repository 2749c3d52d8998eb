"""The page's files as they are shipped: small, short, and with nothing that could read HTML."""

import gzip
import re
from importlib.resources import files

import pytest

PAGE = {
    entry.name: entry.read_text(encoding="utf-8")
    for entry in files("menura.webui").iterdir()
    if entry.name.rpartition(".")[2] in ("html", "css", "js", "svg")
}
SCRIPTS = sorted(name for name in PAGE if name.endswith(".js"))
_IMPORT = re.compile(r'(?:from|import\(|^import) ?"\./([\w.]+)"', re.MULTILINE)
_STATIC_IMPORT = re.compile(r'^(?:import|export) .*?"\./([\w.]+)";', re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r'"/static/([\w.]+)"')
FIRST_PAINT_BYTES = 100_000


def _needed_at_first() -> set[str]:
    """What a browser fetches before Speak is there: the page, its files, and what those import."""
    found = {"index.html", "words_en.js"}
    waiting = [*_ADDRESS.findall(PAGE["index.html"]), "speak.js"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _STATIC_IMPORT.findall(PAGE[name]) if name.endswith(".js") else []
    return found


def test_the_first_paint_is_small() -> None:
    sizes = {name: len(gzip.compress(PAGE[name].encode())) for name in _needed_at_first()}
    assert {"app.js", "dock.js", "player.js", "page.css"} <= sizes.keys()
    assert sum(sizes.values()) < FIRST_PAINT_BYTES, sizes


def test_the_other_screens_wait_until_they_are_wanted() -> None:
    assert not _needed_at_first() & {"voices.js", "models.js", "status.js", "history.js"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_script_imports_is_there(script: str) -> None:
    assert set(_IMPORT.findall(PAGE[script])) <= PAGE.keys()


@pytest.mark.parametrize("name", sorted(PAGE))
def test_a_file_is_short(name: str) -> None:
    assert len(PAGE[name].splitlines()) <= 300


@pytest.mark.parametrize("script", SCRIPTS)
def test_no_text_is_read_as_html(script: str) -> None:
    reads = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    )
    assert reads.findall(PAGE[script]) == []


@pytest.mark.parametrize("name", sorted(PAGE))
def test_nothing_comes_from_another_host(name: str) -> None:
    addresses = set(re.findall(r"https?://[^\s\"'`)<]+", PAGE[name]))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, and no address that is fetched
