"""Which container bytes are, by their first bytes alone.

The answer names the one demuxer that may open them. Nothing is ever probed, so a playlist, a
concat script or a session description is not audio here, whatever it is called, and what it points
to is not opened.
"""

import struct
from dataclasses import dataclass

READABLE = "wav, flac, ogg, opus, mp3, m4a, mp4, mov, webm, mkv, aac, aiff, au, caf, w64, wma, amr"


@dataclass(frozen=True)
class Container:
    """A container: its name for people, FFmpeg's demuxer, and whether libsndfile reads it too."""

    name: str
    demuxer: str
    is_sndfile: bool = False


_WAV = Container("wav", "wav", is_sndfile=True)
_AIFF = Container("aiff", "aiff", is_sndfile=True)
# libsndfile reads mp3 too, but its mpg123 writes to the terminal about a damaged one.
_MP3 = Container("mp3", "mp3")
_AAC = Container("aac", "aac")
_MP4 = Container("mp4", "mov")

_BY_MAGIC: dict[bytes, Container] = {
    b"fLaC": Container("flac", "flac", is_sndfile=True),
    b"OggS": Container("ogg", "ogg", is_sndfile=True),
    b".snd": Container("au", "au", is_sndfile=True),
    b"caff": Container("caf", "caf", is_sndfile=True),
    b"riff\x2e\x91\xcf\x11": Container("w64", "w64", is_sndfile=True),
    b"\x1a\x45\xdf\xa3": Container("webm", "matroska"),
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": Container("wma", "asf"),
    b"#!AMR": Container("amr", "amr"),
}
# Outer chunk and form type, bytes 0-4 and 8-12.
_BY_FORM: dict[tuple[bytes, bytes], Container] = {
    (b"RIFF", b"WAVE"): _WAV,
    (b"RIFX", b"WAVE"): _WAV,
    (b"RF64", b"WAVE"): _WAV,
    (b"FORM", b"AIFF"): _AIFF,
    (b"FORM", b"AIFC"): _AIFF,
}
# The atoms that begin an mp4, m4a, 3gp or mov, bytes 4-8.
_MP4_ATOMS = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip")

_MAX_ID3_TAGS = 4


def sniff(data: bytes) -> Container | None:
    """The container that these bytes are, or None if they are none that Menura reads."""
    start = _id3_end(data)
    head = data[start : start + 12]
    for magic, container in _BY_MAGIC.items():
        if head.startswith(magic):
            return container
    if (form := _BY_FORM.get((head[:4], head[8:12]))) is not None:
        return form
    if head[4:8] in _MP4_ATOMS:
        return _MP4
    return _mpeg_audio(head)


def _mpeg_audio(head: bytes) -> Container | None:
    """mp3 or ADTS aac, by the sync word and the layer that follows it."""
    if len(head) < 2:
        return None
    (sync,) = struct.unpack(">H", head[:2])
    if sync & 0xFFF6 == 0xFFF0:
        return _AAC
    is_layer_2_or_3 = sync & 0xFFE0 == 0xFFE0 and sync & 0x0006 in (0x0004, 0x0002)
    return _MP3 if is_layer_2_or_3 else None


def _id3_end(data: bytes) -> int:
    """Where the audio begins: behind the ID3v2 tags, of which there may be a few."""
    end = 0
    for _ in range(_MAX_ID3_TAGS):
        if not data.startswith(b"ID3", end) or len(data) < end + 10:
            break
        size = 0
        for seven_bits in data[end + 6 : end + 10]:
            size = size << 7 | seven_bits & 0x7F
        end += 10 + size
    return end
