"""A transfer goes on where it was cut, believes no content unchecked, and fits the hub's cache."""

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

from menura.errors import (
    DiskFullError,
    DownloadError,
    ModelNotFoundError,
)
from menura.models import pull, resolve
from menura.store import fetch
from menura.store.cache import hub_cache, hub_repo_folder
from tests.unit.store.fake_hub import (
    BIG,
    COMMIT,
    SMALL,
    WEIGHTS,
    FakeHub,
    brought,
    cache_repo,
    nothing_is_installed,
    offer_small,
    partials,
    running_hub,
    sha256,
)


def test_the_token_goes_to_the_hub_and_to_no_other_host(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    offer_small(hub)
    with running_hub() as storage:
        storage.repos = hub.repos
        hub.redirect_to = storage.url
        list(pull(SMALL))
        assert {asker for _, _, asker in hub.seen} == {"Bearer hf_secret"}
        assert [(path, asker) for path, _, asker in storage.seen] == [
            (f"/{SMALL}/resolve/{COMMIT}/{WEIGHTS}", "")
        ]
    assert (brought() / WEIGHTS).read_bytes() == BIG


def test_a_cut_connection_is_gone_on_with_at_once(hub: FakeHub) -> None:
    offer_small(hub)
    hub.cuts[WEIGHTS] = [1_500_000, 700_000]
    list(pull(SMALL))
    assert (brought() / WEIGHTS).read_bytes() == BIG
    assert hub.ranges(WEIGHTS) == ["", "bytes=1500000-", "bytes=2200000-"]


def test_a_connection_that_brings_nothing_ends_the_pull_and_a_later_one_goes_on(
    hub: FakeHub,
) -> None:
    offer_small(hub)
    hub.cuts[WEIGHTS] = [1_500_000, 0]
    with pytest.raises(DownloadError, match="the same command goes on"):
        list(pull(SMALL))
    assert nothing_is_installed()
    assert [path.stat().st_size for path in partials()] == [1_500_000]
    with pytest.raises(ModelNotFoundError, match=f"pull {SMALL}"):
        resolve(f"{SMALL}")
    hub.seen.clear()
    list(pull(SMALL))
    assert hub.ranges(WEIGHTS) == ["bytes=1500000-"]
    assert (brought() / WEIGHTS).read_bytes() == BIG
    assert partials() == []


def test_closing_a_pull_keeps_what_arrived(hub: FakeHub) -> None:
    offer_small(hub)
    steps = pull(SMALL)
    arrived = next(step.file_done_bytes for step in steps if step.file == WEIGHTS)
    steps.close()
    assert [path.stat().st_size for path in partials()] == [arrived]
    assert nothing_is_installed()
    hub.seen.clear()
    list(pull(SMALL))
    assert hub.ranges(WEIGHTS) == [f"bytes={arrived}-"]
    assert (brought() / WEIGHTS).read_bytes() == BIG


def test_a_server_that_cannot_go_on_sends_the_file_from_its_beginning(hub: FakeHub) -> None:
    offer_small(hub)
    hub.cuts[WEIGHTS] = [1_500_000]
    hub.ignores_range = True
    list(pull(SMALL))
    assert (brought() / WEIGHTS).read_bytes() == BIG


def test_a_partial_file_longer_than_the_file_is_begun_anew(hub: FakeHub) -> None:
    offer_small(hub)
    partial = hub_repo_folder(SMALL) / "blobs" / f"{sha256(BIG)}.menura.incomplete"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(BIG + b"x")
    list(pull(SMALL))
    assert hub.ranges(WEIGHTS) == [""]


WRONG_CONTENT = {
    "one byte differs": (BIG[:-1] + b"\xff", "its digest differs"),
    "more bytes": (BIG + b"x", f"more than {len(BIG):,} bytes"),
}


@pytest.mark.parametrize("case", sorted(WRONG_CONTENT))
def test_content_that_was_not_announced_is_never_used(hub: FakeHub, case: str) -> None:
    offer_small(hub)
    hub.served[WEIGHTS], message = WRONG_CONTENT[case]
    with pytest.raises(DownloadError, match=message):
        list(pull(SMALL))
    assert nothing_is_installed()
    hub.served.clear()
    list(pull(SMALL))
    assert (brought() / WEIGHTS).read_bytes() == BIG


def test_a_small_file_is_checked_too(hub: FakeHub) -> None:
    offer_small(hub)
    hub.served["config.json"] = b"[]"
    with pytest.raises(DownloadError, match=r"config\.json is not what the hub announced"):
        list(pull(SMALL))
    assert not (brought() / "config.json").exists()


def test_a_file_that_changes_its_size_while_resuming_is_refused(hub: FakeHub) -> None:
    offer_small(hub)
    hub.cuts[WEIGHTS] = [1_500_000]
    steps = pull(SMALL)
    while next(steps).file != WEIGHTS:
        pass
    hub.served[WEIGHTS] = BIG + b"x"
    with pytest.raises(DownloadError, match="its size changed"):
        list(steps)


def test_a_disk_that_becomes_full_keeps_the_partial_file(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_small(hub)

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(DiskFullError, match="became full"):
        list(pull(SMALL))
    assert partials() != []


def test_a_cache_that_cannot_be_written_is_named(hub: FakeHub) -> None:
    offer_small(hub)
    hub_cache().parent.mkdir(parents=True)
    hub_cache().write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match="HF_HUB_CACHE can name another") as caught:
        list(pull(SMALL))
    assert f"cannot read or write below {hub_cache()}: " in caught.value.message


def test_a_damaged_file_that_nobody_recorded_is_brought_anew(hub: FakeHub) -> None:
    offer_small(hub)
    snapshot = cache_repo(SMALL, {"config.json": b"{}", WEIGHTS: BIG})
    (snapshot / WEIGHTS).resolve().write_bytes(BIG[:-1] + b"\xff")
    list(pull(SMALL))
    assert hub.ranges("config.json") == []
    assert (snapshot / WEIGHTS).read_bytes() == BIG


def test_content_that_another_revision_has_is_not_brought_again(hub: FakeHub) -> None:
    offer_small(hub)
    cache_repo(SMALL, {WEIGHTS: BIG}, commit="a" * 40)
    list(pull(SMALL))
    assert hub.ranges(WEIGHTS) == []
    assert (brought() / WEIGHTS).read_bytes() == BIG


def test_two_programs_do_not_write_one_file(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_small(hub)
    monkeypatch.setattr(fetch, "_LOCK_WAIT_S", 0.01)
    locks = hub_cache() / ".locks" / "models--someone--small"
    locks.mkdir(parents=True)
    with (
        WeakFileLock(locks / f"{sha256(BIG)}.lock"),
        pytest.raises(DownloadError, match="another program is bringing"),
    ):
        list(pull(SMALL))


def test_without_symbolic_links_the_files_stand_in_the_snapshot(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_small(hub)
    hub.repos[SMALL]["same.json"] = b"{}"
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_SYMLINKS", True, raising=False)
    list(pull(SMALL))
    assert not (brought() / WEIGHTS).is_symlink()
    assert (brought() / WEIGHTS).read_bytes() == BIG
    assert (brought() / "same.json").read_bytes() == b"{}"
    assert list((hub_repo_folder(SMALL) / "blobs").iterdir()) == []
    assert huggingface_hub.try_to_load_from_cache(SMALL, WEIGHTS) == str(brought() / WEIGHTS)
    hub.seen.clear()
    list(pull(SMALL))
    assert hub.ranges(WEIGHTS) == []
