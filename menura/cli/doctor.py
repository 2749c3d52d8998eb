"""`menura doctor`: what Menura finds on this machine, what it lacks, and the command that helps."""

from dataclasses import dataclass

from menura.cli.commands import JsonFlags


@dataclass(frozen=True)
class DoctorFlags(JsonFlags):
    """What the user typed after `menura doctor`."""


def doctor(flags: DoctorFlags) -> None:
    """Show what Menura finds on this machine and what it lacks."""
    from menura.cli.diagnosis import show  # noqa: PLC0415

    show(flags)
