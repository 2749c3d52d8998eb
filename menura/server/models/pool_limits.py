"""How much the server takes on, and how long it waits for whom."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReaderLimits:
    """How much one order may take, and how slow its reader may be.

    `buffer_s`: the audio after which the model is told to hold. `full_s`: the audio that is never
    exceeded. `request_s`: the time for the work, from its start (with words: from the last words).
    `stall_s`: how long a reader may take nothing. `pause_s`: how long words may stay away before
    those that have come are spoken to their end, where others may wait for the row.
    """

    buffer_s: float = 20.0
    full_s: float = 600.0
    request_s: float = 600.0
    stall_s: float = 60.0
    pause_s: float = 5.0


@dataclass(frozen=True)
class PoolLimits:
    """The bounds of all models together; times in seconds.

    `queue`: the orders that may wait for one model. `per_owner`: the orders that one owner may have
    under way, waiting ones too. `queue_s`: how long one may wait. `rows`: how many rows' worth of
    orders a model's process gets, one more waiting there; None: as many as the model has rows.
    `parked`: the orders beside these whose words come later, and those whose reader is slow: they
    can be without a row.
    `idle_s`: after how long without work a model is unloaded; None: never. `load_s`: how long
    loading may take. `hang_s`: how long a process that should move may be silent.
    """

    queue: int = 64
    per_owner: int = 8
    queue_s: float = 60.0
    rows: int | None = None
    parked: int = 64
    idle_s: float | None = 600.0
    max_models: int = 2
    load_s: float = 600.0
    hang_s: float = 120.0
    reader: ReaderLimits = ReaderLimits()
