"""The table of the formats that Menura writes, and how a format is found from what a user gave."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType

from menura.errors import InvalidValueError, did_you_mean


@dataclass(frozen=True)
class AudioFormat:
    """One format: its names, and what FFmpeg needs to write it (wav and pcm need no FFmpeg).

    `options` are FFmpeg's muxer options, and `stream_options` those that only streams need.
    """

    name: str
    media_type: str
    extensions: tuple[str, ...]
    muxer: str = ""
    codec: str = ""
    sample_format: str = ""
    bit_rate: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    stream_options: Mapping[str, str] = field(default_factory=dict)


_ALL = (
    AudioFormat("wav", "audio/wav", (".wav", ".wave")),
    AudioFormat(
        "flac", "audio/flac", (".flac",), "flac", "flac", "s16",
        # Without this FFmpeg leaves 8 KiB of room for tags that are added later.
        options={"metadata_header_padding": "0"},
    ),
    AudioFormat(
        "mp3", "audio/mpeg", (".mp3",), "mp3", "libmp3lame", "fltp", 128_000,
        # Version 3 is the one that every player reads.
        options={"id3v2_version": "3"},
        # A length frame that cannot be filled in later upsets players' timelines.
        stream_options={"write_xing": "0"},
    ),
    AudioFormat(
        "opus", "audio/ogg", (".opus", ".ogg"), "ogg", "libopus", "flt", 64_000,
        # One page a packet of 20 ms: FFmpeg's default page holds back a whole second.
        stream_options={"page_duration": "20000"},
    ),
    AudioFormat("aac", "audio/aac", (".aac",), "adts", "aac", "fltp", 96_000),
    AudioFormat(
        "m4a", "audio/mp4", (".m4a", ".mp4"), "ipod", "aac", "fltp", 96_000,
        # Fragments need no seek. The moov waits for the first one, for the edit that hides priming.
        stream_options={"movflags": "+frag_every_frame+empty_moov+default_base_moof+delay_moov"},
    ),
    AudioFormat("pcm", "audio/pcm", (".pcm", ".raw")),
)  # fmt: skip

FORMATS: Mapping[str, AudioFormat] = MappingProxyType({each.name: each for each in _ALL})

_BY_EXTENSION = {extension: each for each in _ALL for extension in each.extensions}


def format_named(name: str) -> AudioFormat:
    """The format with this name, in any case.

    Raises:
        InvalidValueError: there is no such format.
    """
    found = FORMATS.get(name.casefold())
    if found is None:
        raise InvalidValueError(
            f"format {name!r} is not one that can be written: {', '.join(FORMATS)}."
            + did_you_mean(name, FORMATS),
            param="format",
        )
    return found


def format_for(path_or_name: str | os.PathLike[str], explicit: str | None = None) -> AudioFormat:
    """The format with the explicit name, else the one of the file's extension.

    A bare format name, as servers get it (`mp3`), is taken as a name.

    Raises:
        InvalidValueError: no such format, or an extension of none, or no extension.
    """
    if explicit is not None:
        return format_named(explicit)
    given = os.fspath(path_or_name)
    extension = PurePath(given).suffix.casefold()
    if extension in _BY_EXTENSION:
        return _BY_EXTENSION[extension]
    if given.casefold() in FORMATS:
        return FORMATS[given.casefold()]
    what = f"the extension {extension!r} of {given!r}" if extension else f"{given!r}"
    raise InvalidValueError(
        f"{what} does not name an audio format: end the name with one of "
        f"{', '.join(_BY_EXTENSION)}, or give the format (one of {', '.join(FORMATS)})."
        + did_you_mean(extension or given, _BY_EXTENSION if extension else FORMATS),
        param="format",
    )
