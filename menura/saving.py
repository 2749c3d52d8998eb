"""A finished speech becomes a file, with tags that say who speaks and under which licence."""

from collections.abc import Mapping
from pathlib import Path

from menura import __version__
from menura.audio.encoders import open_file
from menura.audio.formats import format_for
from menura.audio.tags import Tags, synthetic_mark
from menura.speech import Speech


def save(speech: Speech, path: Path, *, mark: bool) -> None:
    """Nothing; the speech stands in the file, in the format of its ending.

    Raises: InvalidValueError: the ending names no format; OutputError: it cannot be written.
    """
    tags = tags_of(speech.applied, mark=mark)
    with open_file(path, format_for(path), speech.sample_rate_hz, tags) as encoder:
        encoder.write(speech.samples)


def tags_of(applied: Mapping[str, object], *, mark: bool, title: str = "") -> Tags:
    """The tags of a file: who speaks, its licence if it has one, and that it is synthetic.

    What `applied` does not have is not said.
    """
    given = {name: applied.get(name) for name in ("model", "voice", "seed")}
    details = {name: str(value) for name, value in given.items() if value not in (None, "")}
    model, voice = details.get("model", ""), details.get("voice", "")
    licence = str(applied.get("output_licence", ""))
    return Tags(
        title=title,
        artist=f"{voice} ({model})" if voice and model else voice or model,
        comment=f"Licence of this audio: {licence}" if licence else "",
        synthetic=synthetic_mark(f"menura/{__version__}", **details) if mark else None,
    )
