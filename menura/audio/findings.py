"""What is found about a recording, for the person who made it: what it means and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from menura.audio.levels import Span


class Severity(StrEnum):
    """How bad it is: no voice comes of it, a worse voice may, or it is only good to know."""

    REFUSE = "refuse"
    WARN = "warn"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One thing that was found. `spans` are the places in it, in seconds of the recording."""

    code: str
    severity: Severity
    says: str
    do: str
    spans: tuple[Span, ...] = ()
