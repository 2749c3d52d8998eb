"""`menura bench serve`: its flags. The work is in `load_bench`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from menura.cli.commands import HELP_WIDTH, Command, Group, JsonFlags, argument, flag, takes

app = typer.Typer(
    name="bench",
    cls=Group,
    help="Measure how fast a server answers.",
    rich_markup_mode=None,
    context_settings=HELP_WIDTH,
)

EPILOG = """\
Examples:
  menura bench serve --start --rate 0.5 --rate 1 --rate 2
  menura bench serve http://127.0.0.1:8000 --key-file key.txt --format mp3 --duration 60

Requests come at random moments (a Poisson process), whether earlier ones are answered or not: as
people come, and not as a loop that waits. A dry answer is one whose audio, played from its first
sound on, would have to stop and wait for more.
"""

_SERVER, _LOAD = "Server", "Load"


@dataclass(frozen=True)
class BenchServeFlags(JsonFlags):
    """What the user typed after `menura bench serve`."""

    address: Annotated[
        str | None,
        argument("URL", help="The server. Default: the one that runs here.", under=_SERVER),
    ] = None
    start: Annotated[
        bool, flag("--start", help="Start one for this run, on a free port.", under=_SERVER)
    ] = False
    key_file: Annotated[
        Path | None,
        flag(
            "--key-file",
            metavar="FILE",
            help="Holds the key; - is standard input. Not needed for a server of yours.",
            under=_SERVER,
        ),
    ] = None
    model: Annotated[
        str | None,
        flag("--model", "-m", metavar="MODEL", help="Default: the server's own.", under=_SERVER),
    ] = None
    voice: Annotated[
        str | None,
        flag("--voice", "-v", metavar="VOICE", help="Default: alloy, as apps ask.", under=_SERVER),
    ] = None
    rate: Annotated[
        list[float] | None,
        flag(
            "--rate",
            metavar="R",
            help="Requests a second; may be repeated, one run each. Default: 1.",
            under=_LOAD,
        ),
    ] = None
    duration: Annotated[
        float, flag("--duration", metavar="S", help="Seconds that requests come.", under=_LOAD)
    ] = 30.0
    texts: Annotated[
        Path | None,
        flag(
            "--texts",
            metavar="FILE",
            help="A text a line, drawn by chance. Default: short and long ones of ours.",
            under=_LOAD,
        ),
    ] = None
    format: Annotated[
        list[str] | None,
        flag(
            "--format",
            metavar="FORMAT",
            help="mp3, opus, aac, flac, wav or pcm; may be repeated. Default: pcm.",
            under=_LOAD,
        ),
    ] = None
    seed: Annotated[
        int, flag("--seed", metavar="N", help="Same seed, same moments and texts.", under=_LOAD)
    ] = 1
    limit: Annotated[
        float,
        flag("--limit", metavar="S", help="Give up an answer after so long.", under=_LOAD),
    ] = 120.0


def bench_serve(flags: BenchServeFlags) -> None:
    """Measure a server under load: time to the first audio, dry answers, throughput, errors."""
    from menura.cli.load_bench import measure  # noqa: PLC0415

    measure(flags)


app.command("serve", cls=Command, epilog=EPILOG)(takes(BenchServeFlags, bench_serve))
