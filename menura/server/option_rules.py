"""What a client may not ask of a model's options, though who runs Menura for themselves may."""

from collections.abc import Mapping

from menura.server.border.problems import Problem
from menura.server.models.model_facts import ModelFacts, OptionWords
from menura.server.server_settings import ServerSettings

# These make control tokens of a text's characters.
_CONTROL = frozenset({"parse_special_tokens"})


def offered(facts: ModelFacts, limits: ServerSettings) -> tuple[OptionWords, ...]:
    """The options of a model that clients may set."""
    return tuple(each for each in facts.options if _is_allowed(each.name, limits))


def check(options: Mapping[str, object], facts: ModelFacts, limits: ServerSettings) -> None:
    """Nothing, where the server allows the options; whether the model has them, it says itself.

    Raises: Problem: 403, one is for who runs the server; 400, one is too large.
    """
    unbounded = {each.name for each in facts.options if each.maximum is None}
    for name, value in options.items():
        if not _is_allowed(name, limits):
            raise Problem(
                403,
                "option_not_allowed",
                f"options.{name} makes control tokens of a text; this server does not take it "
                "(its setting allow_control_tokens).",
                param=f"options.{name}",
            )
        if name in unbounded and _number(value) > limits.max_option:
            raise Problem(
                400,
                "option_too_large",
                f"options.{name} is over {limits.max_option:,}, the most that this server takes.",
                param=f"options.{name}",
            )


def _is_allowed(name: str, limits: ServerSettings) -> bool:
    return limits.allow_control_tokens or name not in _CONTROL


def _number(value: object) -> float:
    """The number, which may be written as a text; 0 for anything else."""
    try:
        return float(value) if isinstance(value, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0 if isinstance(value, str) else float("inf")
