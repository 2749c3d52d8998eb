"""The ids of a text: one for each byte of its UTF-8, after an id 0 that marks the beginning.

The model was trained on transcripts of WhisperD ("[S1] Hello, (laughs) you."), and a few
characters are rewritten to what those hold. All else reaches the model as it is.

Source: section 4 of the specification, checked against 109 recorded texts.
"""

from menura.errors import InvalidValueError

BEGIN_ID = 0
LONGEST_BYTES = 768
"""The most ids that the model was trained on, the begin of the text included."""

_SPEAKER = "[S1] "
_OPENING = ("[", "(")
_SPEAKER_MARKS = ("S1", "S2")
_REWRITTEN = str.maketrans(
    {
        "…": "...",
        "’": "'",
        # parity: the left quote of the pair stays, so a quotation has two kinds of marks
        "”": '"',
        "\n": " ",
        ":": ",",
        ";": ",",
        # parity: a dash between spaces leaves three of them around its comma
        "—": ", ",
    }
)
MOST_ADDED_BYTES = 1 + len(_SPEAKER)
"""What ids and normalisation add to a text's bytes at most: no rewritten character grows."""


def normalized(text: str) -> str:
    """The text as the model was trained to read it, with the mark of a speaker in front.

    A text that begins with a bracket, or that names a speaker anywhere, gets no mark.
    """
    rewritten = text.translate(_REWRITTEN)
    # parity: "S1" and "S2" count inside words too
    is_marked = any(mark in rewritten for mark in _SPEAKER_MARKS)
    return rewritten if is_marked or rewritten.startswith(_OPENING) else _SPEAKER + rewritten


class EchoTokenizer:
    """Text to ids and nothing else; it has no files."""

    def encode(
        self, text: str, normalize: bool = True, *, max_bytes: int | None = None
    ) -> list[int]:
        """The ids of the text, which begin with `BEGIN_ID`.

        With `max_bytes` no more ids than that come back; the cut may be inside a character.

        Raises: InvalidValueError: the text holds half of a surrogate pair, which is no character.
        """
        spoken = normalized(text) if normalize else text
        try:
            encoded = spoken.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidValueError(
                f"the text holds {spoken[error.start]!a}, half of a surrogate pair and no "
                "character; leave it out.",
                param="text",
            ) from error
        return [BEGIN_ID, *encoded][:max_bytes]

    def normalized(self, text: str) -> str:
        """The text as the model reads it; see the function of this name."""
        return normalized(text)
