"""An upstream oddity that is kept is marked in place and listed in its engine's README.

A mark is a comment that begins with `parity:` and says why; the README repeats the same words
below its heading "Quirks kept".
"""

import io
import re
import tokenize
from collections.abc import Iterator

from tests.house.source import ROOT, Module, modules, no_faults

_MARK = re.compile(r"#\s*parity:\s*(?P<why>.*)")
_QUIRKS = re.compile(r"^#+ Quirks kept$(?P<list>.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_ENGINE_FILE = re.compile(r"menura/engines/(?P<engine>\w+)/")


def mark_faults(module: Module, readme: str) -> Iterator[str]:
    """What is wrong with a module's marks, given its engine's README."""
    for line, why in _marks(module):
        if not _ENGINE_FILE.match(module.path):
            yield f"{module.at(line)} has a parity mark, and only engines keep upstream's oddities."
        elif not why:
            yield f"{module.at(line)} has a parity mark without a reason: `# parity: <why>`."
        elif _plain(why) not in _plain(_quirks(readme)):
            yield f'{module.at(line)}: list {why!r} under "Quirks kept" in the engine\'s README.md.'


def _marks(module: Module) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT and (found := _MARK.match(token.string)):
            yield token.start[0], found["why"].strip()


def _quirks(readme: str) -> str:
    found = _QUIRKS.search(readme)
    return found["list"] if found else ""


def _plain(words: str) -> str:
    return " ".join(words.split()).casefold().rstrip(".")


def _readme_of(module: Module) -> str:
    found = _ENGINE_FILE.match(module.path)
    path = ROOT / "menura" / "engines" / (found["engine"] if found else "") / "README.md"
    return path.read_text("utf-8") if path.is_file() else ""


def test_every_parity_mark_is_listed() -> None:
    no_faults(fault for module in modules() for fault in mark_faults(module, _readme_of(module)))


README = "# An engine\n## Quirks kept\n- The mask is\n  off by one.\n## Sources\n- Rounds twice.\n"


def _engine_file(text: str) -> Module:
    return Module("menura.engines.x.talker", text, "menura/engines/x/talker.py")


def test_a_listed_mark_is_left_alone() -> None:
    assert list(mark_faults(_engine_file("x = 1  # parity: the mask is off by one"), README)) == []


def test_a_mark_in_a_text_is_no_mark() -> None:
    assert list(mark_faults(_engine_file("x = '# parity: no'"), README)) == []


def test_a_mark_that_is_not_below_the_heading_is_found() -> None:
    [fault] = mark_faults(_engine_file("# parity: rounds twice\n"), README)
    assert "Quirks kept" in fault


def test_a_mark_without_a_reason_is_found() -> None:
    [fault] = mark_faults(_engine_file("# parity:\n"), README)
    assert "without a reason" in fault


def test_a_mark_outside_an_engine_is_found() -> None:
    module = Module("menura.runtime.x", "# parity: the mask is off by one\n", "menura/runtime/x.py")
    [fault] = mark_faults(module, README)
    assert "only engines" in fault
