"""A hub's answers are checked like any stranger's, and its refusals say what to do."""

from pathlib import Path

import pytest
from huggingface_hub import constants

from menura.errors import (
    DownloadError,
)
from menura.models import describe_pull, pull
from tests.unit.store.fake_hub import (
    COMMIT,
    QWEN,
    SMALL,
    WEIGHTS,
    FakeHub,
    nothing_is_installed,
    offer_small,
)

STATUSES = {
    404: "has no such repository, revision or file",
    401: "set HF_TOKEN",
    403: "accept its terms at",
    429: "too many requests",
    503: "Try again later",
}


@pytest.mark.parametrize("place", ["", WEIGHTS])
@pytest.mark.parametrize("status", sorted(STATUSES))
def test_a_refusal_says_what_to_do(hub: FakeHub, status: int, place: str) -> None:
    offer_small(hub)
    hub.status[place] = status
    with pytest.raises(DownloadError, match=STATUSES[status]):
        list(pull(SMALL))
    assert nothing_is_installed()


def test_a_hub_that_cannot_be_reached_names_the_other_ways() -> None:
    with pytest.raises(DownloadError) as caught:
        list(pull("qwen3-tts-0.6b-base"))
    for way in ("HF_ENDPOINT", "--source modelscope", "copy the folder by hand"):
        assert way in caught.value.message


def test_an_impossible_endpoint_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "ftp://nowhere")
    with pytest.raises(DownloadError, match="HF_ENDPOINT"):
        list(pull(SMALL))


@pytest.mark.usefixtures("no_network")
def test_offline_forbids_every_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for begin in (lambda: list(pull(QWEN)), lambda: describe_pull(SMALL)):
        with pytest.raises(DownloadError, match="HF_HUB_OFFLINE forbids"):
            begin()


LISTINGS = {
    "a login page": b"<html>",
    "a list": b"[]",
    "no commit": b'{"siblings": []}',
    "a commit that is a path": b'{"sha": "../../x", "siblings": []}',
    "a name that leaves its folder": b"../../x.safetensors",
    "an absolute name": b"/x.safetensors",
    "a name with a backslash": b"..\\\\x.safetensors",
    "a name with a drive": b"C:x.safetensors",
}


@pytest.mark.parametrize("case", sorted(LISTINGS))
def test_an_answer_that_is_not_a_hubs_is_refused(hub: FakeHub, case: str, home: Path) -> None:
    offer_small(hub)
    text = LISTINGS[case]
    if text.endswith(b".safetensors"):
        text = b'{"sha":"%s","siblings":[{"rfilename":"%s","size":1,"blobId":"%s"}]}' % (
            COMMIT.encode(), text, b"0" * 40,
        )  # fmt: skip
    hub.raw_listing = text
    with pytest.raises(DownloadError, match="does not answer like a Hugging Face hub"):
        list(pull(SMALL))
    assert not home.exists() or list(home.rglob("*x.safetensors*")) == []


@pytest.mark.parametrize(
    "fields",
    [{"size": -1}, {"size": "1"}, {"size": True}, {"lfs": {"sha256": "x"}}, {"lfs": {}},
     {"lfs": {"sha256": "../" * 21 + "a"}}],
)  # fmt: skip
def test_a_file_announced_without_size_or_digest_is_refused(
    hub: FakeHub, fields: dict[str, object]
) -> None:
    offer_small(hub)
    hub.announced[WEIGHTS] = fields
    with pytest.raises(DownloadError, match="does not answer like"):
        list(pull(SMALL))
