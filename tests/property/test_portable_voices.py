"""Whatever comes as a portable or a saved voice: it is refused in words, or it is sound."""

import functools
import io
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy

from menura import voice_files
from menura.errors import InvalidValueError, ModelFilesError
from menura.runtime.array_files import array_bytes, arrays_of
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.portable import export, read_portable
from menura.voice_library.saved_prompts import from_saved
from menura.voice_library.zip_entries import read_entries
from tests.zipped_voices import made_by_tone, raw_entry, raw_zip, unzipped, voice, zipped

LARGEST = {"voice.json": 10_000, "clips": 10_000}
SOUND = {"voice.json": b'{"a": 1}' * 40, "clips/1.flac": bytes(range(256))}
NAME = Path("x.safetensors")
QUICK = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow],
)
Change = Callable[[bytes], bytes]


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """A few bytes of a file changed, put in, left out or said twice, at places of any kind."""
    kind = draw(st.sampled_from(["change", "insert", "delete", "repeat", "cut"]))
    place = draw(st.floats(0, 1))
    new = draw(st.binary(min_size=1, max_size=6) | st.sampled_from([b"\0\0\0\0", b"\xff" * 4]))

    def change(data: bytes) -> bytes:
        at = round(place * len(data))
        return {
            "change": data[:at] + new + data[at + len(new) :],
            "insert": data[:at] + new + data[at:],
            "delete": data[:at] + data[at + len(new) :],
            "repeat": data[:at] + data[max(0, at - 40) : at] + data[at:],
            "cut": data[:at],
        }[kind]

    return change


@functools.cache
def exported() -> bytes:
    with TemporaryDirectory() as folder:
        library = VoiceLibrary(Path(folder))
        library.add(voice())
        file = io.BytesIO()
        export(library, "Anna", file)
        return file.getvalue()


def read(data: bytes) -> dict[str, bytes] | None:
    """The entries, None for a refusal; no more memory than the caps allow is taken."""
    tracemalloc.start()
    try:
        return read_entries(io.BytesIO(data), LARGEST)
    except InvalidValueError:
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1_000_000 + 4 * len(data)


def check_alike(data: bytes) -> None:
    """What is accepted is what the standard library reads there, too."""
    found = read(data)
    if found is not None:
        assert found == unzipped(data)


@QUICK
@given(st.lists(changes(), min_size=1, max_size=3), st.sampled_from([0, 8]))
def test_a_changed_zip_file_is_refused_or_read_as_others_read_it(
    made: list[Change], method: int
) -> None:
    data = zipped(SOUND, method)
    for change in made:
        data = change(data)
    check_alike(data)


@QUICK
@given(st.binary(max_size=400))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    check_alike(data)
    check_alike(b"PK\x03\x04" + data + b"PK\x05\x06" + data[:18])


@QUICK
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "flags": st.integers(0, 2**16 - 1),
                "method": st.sampled_from([0, 8, 9, 12]),
                "crc": st.integers(0, 2**32 - 1),
                "packed": st.integers(0, 2**32 - 1) | st.integers(0, 40),
                "size": st.integers(0, 2**32 - 1) | st.integers(0, 40),
                "attributes": st.integers(0, 2**32 - 1),
                "start": st.integers(0, 2**32 - 1) | st.integers(0, 100),
            },
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([b"clips/1.flac", b"voice.json", b"../x", b"clips/\xff"]),
    st.none() | st.integers(0, 2**16 - 1),
    st.integers(0, 3),
)
def test_entries_that_claim_anything_are_refused_or_true(
    claims: list[dict[str, int]], name: bytes, count: int | None, comment: int
) -> None:
    entries: list[tuple[bytes, bytes]] = []
    at = 0
    for claim in claims:
        entries.append(raw_entry(name, b"some data", at, **claim))
        at += len(entries[-1][0])
    check_alike(raw_zip(*entries, count=count, comment=comment))


@QUICK
@given(changes())
def test_a_changed_portable_file_is_refused_or_sounds_as_before(change: Change) -> None:
    before = read_portable(exported())
    try:
        after = read_portable(change(exported()))
    except InvalidValueError:
        return
    assert [clip.flac for clip in after.new.clips] == [clip.flac for clip in before.new.clips]


@QUICK
@given(st.sampled_from(sorted(unzipped(exported()))), changes())
def test_a_changed_file_in_a_sound_zip_is_refused_or_as_sound(name: str, change: Change) -> None:
    contents = unzipped(exported())
    try:
        found = read_portable(zipped({**contents, name: change(contents[name])}))
    except InvalidValueError:
        return
    for prompt in found.new.prompts:
        assert all(np.isfinite(array).all() for array in prompt.voice.prompt.arrays.values())


@QUICK
@given(st.lists(changes(), min_size=1, max_size=2))
def test_a_changed_saved_voice_is_refused_or_holds_numbers(made: list[Change]) -> None:
    data = voice_files.to_bytes(made_by_tone())
    for change in made:
        data = change(data)
    try:
        found = from_saved(data, "x.safetensors")
    except InvalidValueError:
        return
    [prompt] = found.prompts
    assert all(np.isfinite(array).all() for array in prompt.voice.prompt.arrays.values())


@QUICK
@given(st.binary(max_size=300), st.integers(0, 2**64 - 1) | st.integers(0, 300))
def test_any_bytes_are_no_arrays_or_finite_ones(data: bytes, length: int) -> None:
    try:
        found = arrays_of(length.to_bytes(8, "little") + data, NAME)
    except ModelFilesError:
        return
    assert all(np.isfinite(array).all() for array in found.arrays.values())


@QUICK
@given(
    st.dictionaries(
        st.text(max_size=20).filter(lambda name: name != "__metadata__"),
        of_numpy.arrays(
            st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.uint8]),
            of_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
            elements={"allow_nan": False, "allow_infinity": False},
        ),
        max_size=4,
    ),
    st.dictionaries(st.text(max_size=10), st.text(max_size=20), max_size=3),
)
def test_arrays_come_back_as_they_were(
    arrays: dict[str, np.ndarray], notes: dict[str, str]
) -> None:
    found = arrays_of(array_bytes(arrays, notes), NAME)
    assert found.metadata == notes
    assert found.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)


def test_the_same_voice_gives_the_same_bytes_again() -> None:
    with zipfile.ZipFile(io.BytesIO(exported())) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist()[0] == "voice.json"
