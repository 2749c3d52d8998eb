"""From the flags of `menura say` to the request that `api` takes."""

import re
from collections.abc import Sequence

from menura import voice_files
from menura.cli.say import SayFlags
from menura.errors import InvalidValueError
from menura.speech import SpeechRequest, Voice

# `https://...`, of which a path keeps one slash; one letter is a drive.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:[/\\]", re.IGNORECASE)
# What has a flag of its own, and so is no option of an engine.
_OWN_FLAGS = ("text", "voice", "language", "instruct", "seed", "speed", "split", "strict")


def request_of(flags: SayFlags, text: str, voice: Voice | None = None) -> SpeechRequest:
    """The request; `voice` is the one made from --ref, if it was given.

    Raises: InvalidValueError: an option without a value, given twice, or with its own flag; --voice
        names a file that is no saved voice.
    """
    return SpeechRequest(
        text=text,
        voice=voice or (flags.voice and voice_files.named(flags.voice)),
        language=flags.language,
        instruct=flags.instruct,
        seed=flags.seed,
        speed=flags.speed,
        split=flags.split,
        strict=not flags.lenient,
        options=options_of(flags.option or []),
    )


def options_of(pairs: Sequence[str]) -> dict[str, object]:
    """The engine's options from `name=value` pairs; their values are read by the engine's spec."""
    options: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InvalidValueError(
                f"-p {pair!r} is not an option with its value: give -p name=value.", param="-p"
            )
        if name in options:
            raise InvalidValueError(f"the option {name!r} is given twice.", param=name)
        if name in _OWN_FLAGS:
            own = "--lenient" if name == "strict" else f"--{name}"
            raise InvalidValueError(f"{name!r} is no option of an engine: give {own}.", param=name)
        options[name] = value
    return options


def check_reference(flags: SayFlags) -> None:
    """Nothing, or InvalidValueError where --ref is an address or does not go with other flags."""
    if flags.ref is not None and flags.voice is not None:
        raise InvalidValueError("give --voice or --ref, not both.", param="--ref")
    if flags.ref_text is not None and flags.ref is None:
        raise InvalidValueError(
            "--ref-text says what a recording holds: give the recording with --ref FILE.",
            param="--ref-text",
        )
    if flags.ref is not None and _ADDRESS.match(str(flags.ref)) and not flags.ref.exists():
        address = str(flags.ref).replace(":/", "://", 1)
        raise InvalidValueError(
            f"--ref {address!r} is an address, and addresses are not fetched: download the "
            "recording, and give its file.",
            param="--ref",
        )
