import gzip
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from menura.server import web_page
from menura.server.web_page import page_files
from tests.unit.server.http_parts import Site, site_at

FILES = sorted(page_files())
SCRIPTS = [name for name in FILES if name.endswith(".js")]
TYPES = {
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8", "json": "application/json", "svg": "image/svg+xml",
    "png": "image/png", "woff2": "font/woff2",
}  # fmt: skip


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
    assert answer.headers["content-type"] == TYPES[name.rpartition(".")[2]]
    assert answer.content == (files("menura.webui") / name).read_bytes()


def test_the_page_may_use_the_microphone_and_play_what_it_holds_and_no_more(site: Site) -> None:
    headers = site.client().get("/").headers
    assert headers["permissions-policy"].startswith("microphone=(self), camera=()")
    assert "media-src 'self' blob:" in headers["content-security-policy"]
    assert headers["content-security-policy"].count("blob:") == 1


def test_every_file_of_a_known_ending_is_served_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.js", "b-c.css", "d.woff2", "e.py", ".hidden.js", "README.md", "F.js", "g"):
        (tmp_path / name).write_text("words")
    (tmp_path / "folder.js").mkdir()
    monkeypatch.setattr(web_page, "files", lambda _: tmp_path)
    assert set(page_files.__wrapped__()) == {"a.js", "b-c.css", "d.woff2"}


def test_a_browser_that_has_a_file_is_told_so(site: Site) -> None:
    client = site.client()
    first = client.get("/static/index.html", headers={"accept-encoding": "identity"})
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["vary"] == "accept-encoding, origin"
    tag = first.headers["etag"]
    for given in (tag, f"W/{tag}", f'"other", {tag}'):
        again = client.get("/", headers={"if-none-match": given, "accept-encoding": "identity"})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    changed = client.get("/", headers={"if-none-match": '"other"'})
    assert (changed.status_code, len(changed.content)) == (200, len(first.content))


@pytest.mark.parametrize("given", ["gzip", "br, GZIP;q=0.5", "gzip ; q=1.0"])
def test_a_file_is_squeezed_for_who_can_read_that(given: str, site: Site) -> None:
    with site.client().stream("GET", "/", headers={"accept-encoding": given}) as answer:
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-length"] == str(len(raw))
    assert gzip.decompress(raw) == page_files()["index.html"].content
    assert answer.headers["etag"].endswith('-gzip"')


@pytest.mark.parametrize("given", ["", "br", "gzip;q=0", "gzip; q=0.00", "x-gzip-not"])
def test_a_file_is_plain_for_who_cannot(given: str, site: Site) -> None:
    answer = site.client().get("/", headers={"accept-encoding": given})
    assert "content-encoding" not in answer.headers
    assert "gzip" not in answer.headers["etag"]


@pytest.mark.parametrize(
    "name",
    ["", "none.js", "__init__.py", "..%2findex.html", "%2e%2e%2f__init__.py", "icon.svg%00",
     "ICON.SVG", "..\\index.html", "icon.svg/", "icon.svg/x"],
)  # fmt: skip
def test_only_the_named_files_are_there(name: str, site: Site) -> None:
    assert site.client(site.key).get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_shows_words_as_text_and_reads_no_cookie(name: str, site: Site) -> None:
    script = site.client().get(f"/static/{name}").text
    for danger in ("innerHTML", "outerHTML", "document.write", "insertAdjacentHTML", "eval(",
                   "new Function", "document.cookie"):  # fmt: skip
        assert danger not in script
