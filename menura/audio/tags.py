"""What a file says about itself: title, artist, comment, and that its speech is synthetic.

The mark is one line of `key=value` pairs that starts with `synthetic=1`. It closes the comment,
the only field that wav, flac, ogg, mp3 and m4a all have, and stands alone in the field
`SYNTHETIC_SPEECH` where a container takes fields of any name (flac, ogg, mp3).
aac (ADTS) and pcm hold no tags.
"""

from dataclasses import dataclass

MARK_FIELD = "SYNTHETIC_SPEECH"

# The IPTC's word for media that a trained model made; readers of content credentials know it.
SOURCE_TYPE = "trainedAlgorithmicMedia"


@dataclass(frozen=True)
class Tags:
    """The tags of one file; empty fields are not written. `synthetic` is a `synthetic_mark`."""

    title: str = ""
    artist: str = ""
    comment: str = ""
    synthetic: str | None = None

    def fields(self) -> dict[str, str]:
        """The fields to write, by FFmpeg's names; NUL, which ends a string in wav, is dropped."""
        comment = "\n".join(line for line in (self.comment, self.synthetic) if line)
        fields = {
            "title": self.title,
            "artist": self.artist,
            "comment": comment,
            MARK_FIELD: self.synthetic or "",
        }
        return {name: text.replace("\0", "") for name, text in fields.items() if text}


NO_TAGS = Tags()


def synthetic_mark(generator: str, **details: str) -> str:
    """The mark's line, such as `synthetic=1; generator=menura/0.1.0; ...; voice=heart`.

    `details` are further pairs. `;`, `=` and line breaks inside a value become spaces, so that
    `read_mark` always finds the pairs that were written.
    """
    pairs = {"synthetic": "1", "generator": generator, "digital_source_type": SOURCE_TYPE} | details
    unreserved = str.maketrans(";=\r\n", "    ")
    return "; ".join(f"{key}={value.translate(unreserved)}" for key, value in pairs.items())


def read_mark(text: str) -> dict[str, str] | None:
    """The pairs of the mark in a comment or in `SYNTHETIC_SPEECH`, or None if there is no mark."""
    for line in reversed(text.splitlines()):
        pairs = dict(pair.partition("=")[::2] for pair in line.split("; "))
        if pairs.get("synthetic") == "1":
            return pairs
    return None
