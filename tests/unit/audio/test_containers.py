import pytest

from menura.audio.containers import sniff

ID3 = b"ID3\x04\0\0\0\0\x01\x00" + bytes(128)


@pytest.mark.parametrize(
    ("head", "name", "demuxer"),
    [
        (b"RIFF\xff\xff\xff\xffWAVEfmt ", "wav", "wav"),
        (b"RF64\xff\xff\xff\xffWAVEds64", "wav", "wav"),
        (b"fLaC\0\0\0\x22", "flac", "flac"),
        (b"OggS\0\x02", "ogg", "ogg"),
        (b"FORM\0\0\0\x10AIFC", "aiff", "aiff"),
        (b"\0\0\0\x1cftypM4A ", "mp4", "mov"),
        (b"\x1a\x45\xdf\xa3\x01", "webm", "matroska"),
        (b"\xff\xf1\x58\x40", "aac", "aac"),
        (b"\xff\xf9\x58\x40", "aac", "aac"),
        (b"\xff\xfb\x90\x64", "mp3", "mp3"),
        (b"\xff\xf3\xc4\xc0", "mp3", "mp3"),
        (b"\xff\xe3\x18\xc4", "mp3", "mp3"),
        (ID3 + b"\xff\xfb\x90\x64", "mp3", "mp3"),
        (ID3 + b"fLaC\0\0\0\x22", "flac", "flac"),
        (ID3 + ID3 + b"\xff\xfb\x90\x64", "mp3", "mp3"),
    ],
)
def test_a_container_is_known_by_its_first_bytes(head: bytes, name: str, demuxer: str) -> None:
    found = sniff(head)
    assert found is not None
    assert (found.name, found.demuxer) == (name, demuxer)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\xff",
        b"\xff\xff",
        "UTF-16 text".encode("utf-16"),
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"v=0\no=- 0 0 IN IP4 127.0.0.1\n",
        b"[playlist]\nFile1=http://localhost/\n",
        b"<?xml version='1.0'?><MPD></MPD>",
        b"RIFF\x10\0\0\0AVI LIST",
        b"\x89PNG\r\n\x1a\n",
        b"ID3",
        b"ID3\x04\0\0\x7f\x7f\x7f\x7f short",
    ],
)
def test_what_is_no_audio_is_none(head: bytes) -> None:
    assert sniff(head) is None
