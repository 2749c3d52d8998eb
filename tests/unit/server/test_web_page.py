import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.unit.server.http_parts import Site, site_at

FILES = ("page.css", "page.js", "icon.svg", "index.html")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path)


class Inline(HTMLParser):
    """What a strict content security policy forbids in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in named):
            self.found.append(tag)
        self.found += [name for name in named if name == "style" or name.startswith("on")]
        self.addresses += [named[name] or "" for name in ("src", "href") if name in named]


def test_the_page_is_open_and_gives_nothing_away(site: Site) -> None:
    answer = site.client().get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(r"\d+\.\d+\.\d+", answer.text)
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_holds_no_script_or_style_and_needs_no_other_site(path: str, site: Site) -> None:
    client = site.client(site.key)
    page = Inline()
    page.feed(client.get(path).text)
    assert page.found == []
    assert len(page.addresses) >= 4
    for address in page.addresses:
        assert address.startswith("/")
        if address.startswith(("/static", "/docs")):
            assert client.get(address).status_code == 200


@pytest.mark.parametrize("name", FILES)
def test_the_pages_files_are_open(name: str, site: Site) -> None:
    answer = site.client().get(f"/static/{name}")
    assert answer.status_code == 200
    assert len(answer.content) > 50


@pytest.mark.parametrize(
    "name",
    ["", "none.js", "__init__.py", "..%2findex.html", "%2e%2e%2f__init__.py", "page.js%00",
     "PAGE.JS", "..\\index.html", "page.js/", "page.js/x"],
)  # fmt: skip
def test_only_the_named_files_are_there(name: str, site: Site) -> None:
    assert site.client(site.key).get(f"/static/{name}").status_code == 404


def test_the_script_shows_words_as_text_and_keeps_no_key(site: Site) -> None:
    script = site.client().get("/static/page.js").text
    for danger in ("innerHTML", "outerHTML", "document.write", "insertAdjacentHTML", "eval(",
                   "localStorage", "sessionStorage", "document.cookie"):  # fmt: skip
        assert danger not in script
