from menura.server.border.request_book import KEPT, RequestBook
from menura.server.border.request_log import RequestNotes


def ended(book: RequestBook, name: str, method: str = "POST", status: int = 200) -> None:
    book.begin()
    book.end(RequestNotes(name, method, "/v1/audio/speech", status=status))


def test_requests_are_counted_while_they_live_and_after() -> None:
    book = RequestBook()
    book.begin()
    book.begin()
    assert (book.n_live, book.n_total) == (2, 2)
    book.end(RequestNotes("a", "GET"))
    assert (book.n_live, book.n_total) == (1, 2)


def test_the_newest_comes_first_with_what_the_log_says_and_its_time() -> None:
    book = RequestBook(lambda: 12.3456)
    ended(book, "first")
    ended(book, "second", status=400)
    assert [line["request_id"] for line in book.last()] == ["second", "first"]
    line = book.last()[0]
    assert line == {
        "at": 12.346, "request_id": "second", "method": "POST", "route": "/v1/audio/speech",
        "status": 400, "bytes_out": 0, "seconds": 0.0,
    }  # fmt: skip


def test_what_was_only_read_and_went_well_is_not_kept() -> None:
    book = RequestBook()
    ended(book, "read", "GET", 200)
    ended(book, "held already", "GET", 304)
    ended(book, "refused", "GET", 403)
    ended(book, "socket", "WS", 101)
    assert [line["request_id"] for line in book.last()] == ["socket", "refused"]


def test_only_so_many_are_kept() -> None:
    book = RequestBook()
    for number in range(KEPT + 5):
        ended(book, str(number))
    lines = book.last()
    assert len(lines) == KEPT
    assert lines[-1]["request_id"] == "5"
