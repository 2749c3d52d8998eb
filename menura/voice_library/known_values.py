"""What is kept of a voice is checked when it is given: its language, and how it is to speak."""

from collections.abc import Mapping

from menura import languages
from menura.engines.contract import EngineSpec
from menura.errors import InvalidValueError, did_you_mean
from menura.speech import FASTEST, SLOWEST
from menura.voice_library.record import VoiceDefaults
from menura.voice_library.strict_json import is_plain

_LONGEST_VALUE = 1_000
_SHOWN = 60  # characters of a given word in an error


def check_language(given: str | None) -> None:
    """Nothing, for no language or a known one. Raises: InvalidValueError."""
    if not given or languages.is_known(given):
        return
    known = (*languages.LANGUAGES.values(), *languages.LANGUAGES)
    raise InvalidValueError(
        f"the language {given[:_SHOWN]!r} is not known: give one such as english, en or en-GB; "
        f"these are known: {', '.join(sorted(languages.LANGUAGES.values()))}."
        + did_you_mean(given[:_SHOWN], known),
        param="language",
    )


def check_defaults(given: VoiceDefaults) -> None:
    """Nothing, for defaults that a voice can have. Raises: InvalidValueError: it says which not."""
    check_language(given.language)
    speed = given.speed
    if type(speed) not in (int, float) or not SLOWEST <= speed <= FASTEST:
        raise InvalidValueError(
            f"speed={speed!r} is not allowed: it must be a number from {SLOWEST} to {FASTEST}.",
            param="speed",
        )
    for name, value in given.options.items():
        if not is_plain(value, _LONGEST_VALUE):
            raise InvalidValueError(
                f"{name[:_SHOWN]}={value!r:.60} is not allowed: a voice keeps texts, finite "
                "numbers, true and false.",
                param=name[:_SHOWN],
            )


def check_options(options: Mapping[str, object], spec: EngineSpec) -> None:
    """Nothing, for options that the model has. Raises: InvalidValueError: it says which not."""
    try:
        spec.options.parse(options)
    except InvalidValueError as error:
        raise InvalidValueError(
            f"{error.message.rstrip('.')} (the voice's model is {spec.model!r}).", param=error.param
        ) from error
