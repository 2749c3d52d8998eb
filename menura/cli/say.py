"""`menura say`: its flags. The work is in `speaking` and, for a dry run, in `dry_run`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from menura.cli.commands import HelpWanted, JsonFlags, argument, flag
from menura.cli.terminal import is_terminal
from menura.cli.voice_names import names_in_library

EPILOG = """\
Examples:
  menura say "Hello there."                    writes speech.wav
  menura say -f chapter.txt -o chapter.m4a     a whole file
  echo "Hello." | menura say - -o - | aplay    through pipes
  menura say -f chapter.txt --plan             what would be spoken, and how long
  menura say "Hello." --voice emma             after: menura models pull builtin-emma
  menura say "Hello." -v Anna                  a voice of yours, after: menura voices add Anna ...
"""

_TEXT, _VOICE, _OUTPUT, _RUNNING = "Text", "Voice and manner", "Output", "Running"


@dataclass(frozen=True)
class SayFlags(JsonFlags):
    """What the user typed after `menura say`; None where it was not given."""

    text: Annotated[
        list[str] | None,
        argument("TEXT", help="The text in quotes; - reads standard input.", under=_TEXT),
    ] = None
    file: Annotated[
        Path | None, flag("--file", "-f", metavar="FILE", help="Speak this text file.", under=_TEXT)
    ] = None
    split: Annotated[
        bool,
        flag(
            "--split/--no-split",
            help="Cut a long text into segments, or hand it to the model whole.",
            under=_TEXT,
        ),
    ] = True
    model: Annotated[
        str | None,
        flag(
            "--model",
            "-m",
            metavar="MODEL",
            help="Name, hub id or folder. Default: the setting default_model, else the built-in.",
            under=_VOICE,
        ),
    ] = None
    voice: Annotated[
        str | None,
        flag(
            "--voice",
            "-v",
            metavar="VOICE",
            help="A voice of yours or of the model (menura voices), or a saved .safetensors file.",
            under=_VOICE,
            completion=names_in_library,
        ),
    ] = None
    language: Annotated[
        str | None,
        flag(
            "--language",
            "-l",
            metavar="LANGUAGE",
            help="The text's language: english, en ... Default: by the text.",
            under=_VOICE,
        ),
    ] = None
    instruct: Annotated[
        str | None,
        flag(
            "--instruct",
            metavar="TEXT",
            help="How to speak, or who, for models that follow words.",
            under=_VOICE,
        ),
    ] = None
    ref: Annotated[
        Path | None,
        flag(
            "--ref",
            metavar="FILE",
            help="Speak like this recording, for models that can.",
            under=_VOICE,
        ),
    ] = None
    ref_text: Annotated[
        str | None,
        flag("--ref-text", metavar="TEXT", help="What is said in the recording.", under=_VOICE),
    ] = None
    speed: Annotated[
        float, flag("--speed", metavar="X", help="Pace, from 0.25 to 4.", under=_VOICE)
    ] = 1.0
    seed: Annotated[
        int | None,
        flag(
            "--seed",
            metavar="N",
            help="Same seed, same speech. Default: drawn, and reported.",
            under=_VOICE,
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        flag(
            "--option",
            "-p",
            metavar="NAME=VALUE",
            help="An option of the engine; may be repeated.",
            under=_VOICE,
        ),
    ] = None
    lenient: Annotated[
        bool,
        flag(
            "--lenient",
            help="Leave out what the model cannot do, and say so, in place of an error.",
            under=_VOICE,
        ),
    ] = False
    output: Annotated[
        str | None,
        flag(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write; - is stdout. Default: speech.wav, speech-2.wav ...",
            under=_OUTPUT,
        ),
    ] = None
    format: Annotated[
        str | None,
        flag(
            "--format",
            metavar="FORMAT",
            help="wav, flac, mp3, opus, aac, m4a or pcm. Default: by the file's ending.",
            under=_OUTPUT,
        ),
    ] = None
    force: Annotated[bool, flag("--force", help="Write over an existing file.", under=_OUTPUT)] = (
        False
    )
    stream: Annotated[
        bool,
        flag(
            "--stream",
            help="With -o - or --play: let audio out while it is made (a header without length).",
            under=_OUTPUT,
        ),
    ] = False
    play: Annotated[
        bool,
        flag(
            "--play",
            help="Play it while it is made; a file is written only with -o.",
            under=_OUTPUT,
        ),
    ] = False
    no_mark: Annotated[
        bool,
        flag(
            "--no-mark",
            help="Leave the mark of synthetic speech out of the file's tags.",
            under=_OUTPUT,
        ),
    ] = False
    plan: Annotated[
        bool,
        flag(
            "--plan",
            help="Only show what would be spoken and how; no model is loaded.",
            under=_OUTPUT,
        ),
    ] = False
    quiet: Annotated[
        bool, flag("--quiet", "-q", help="Say nothing but warnings and errors.", under=_OUTPUT)
    ] = False
    device: Annotated[
        str | None,
        flag(
            "--device",
            metavar="DEVICE",
            help="auto, cpu, cuda, cuda:1, mps ... Default: the setting, else auto.",
            under=_RUNNING,
        ),
    ] = None
    precision: Annotated[
        str | None,
        flag(
            "--precision",
            metavar="PRECISION",
            help="auto, exact, bf16, int8 ... Default: the setting, else auto.",
            under=_RUNNING,
        ),
    ] = None
    threads: Annotated[
        int | None,
        flag("--threads", metavar="N", help="CPU threads for the model.", under=_RUNNING),
    ] = None
    local: Annotated[
        bool,
        flag(
            "--local",
            help="Speak in this process, also where a server of yours has the model.",
            under=_RUNNING,
        ),
    ] = False


def say(flags: SayFlags) -> None:
    """Speak a text into a file, a pipe or the loudspeaker."""
    nothing_given = flags.text is None and flags.file is None
    if nothing_given and not flags.json and is_terminal("stdin"):
        raise HelpWanted
    if flags.plan:
        from menura.cli.dry_run import show  # noqa: PLC0415

        show(flags)
    else:
        from menura.cli.speaking import speak  # noqa: PLC0415

        speak(flags)
