"""Numbers as people read them: durations and sizes."""


def duration(seconds: float) -> str:
    """The duration as people read it: `0.31 s`, `2.1 s`, `3 min 20 s`, `1 h 02 min`."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def estimate(seconds: float) -> str:
    """A duration that nobody knows well, rounded: `4 s`, `35 s`, `9 min 30 s`, `25 min`."""
    step = 1 if seconds < 20 else 5 if seconds < 60 else 10 if seconds < 600 else 60
    rounded = max(round(seconds / step) * step, 1)
    if rounded < 60:
        return f"{rounded} s"
    return duration(rounded).removesuffix(" 00 s")


def size(n_bytes: int, *, about: bool = False) -> str:
    """The size as people read it, in powers of 1000: `245 B`, `7.9 MB`, `~3.8 GB`."""
    value, unit = float(n_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    digits = 0 if unit == "B" or value >= 99.5 else 1
    return f"{'~' if about else ''}{value:.{digits}f} {unit}"
