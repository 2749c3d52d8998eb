"""Options that are declared once: each is a field of one frozen dataclass.

```python
@dataclass(frozen=True)
class GenerationOptions(Options):
    top_k: int = option(50, minimum=0, help="Draw from the k likeliest codes; 0 means from all.")
```

Engines declare theirs so, and so do the settings. The command line, the server's schema, the page's
form and the checks all read these fields.
"""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from menura.errors import InvalidValueError, did_you_mean

_FACTS = "menura option"
_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_NAMES |= {tuple: "whole numbers such as 32,128"}
_WORDS = {"true": True, "yes": True, "on": True, "1": True}
_WORDS |= {"false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True)
class OptionFacts:
    """What is declared of one option: its bounds are inclusive, its unit is a word or empty."""

    name: str
    kind: type
    default: object
    optional: bool
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    pattern: str
    unit: str
    help: str

    def allowed(self) -> str:
        """The allowed values in words, such as `a whole number of at least 1` or `one of: a, b`."""
        if self.choices:
            return f"one of: {', '.join(self.choices)}" + (" and the like" if self.pattern else "")
        words = _NAMES[self.kind] + (", each" if self._has_bounds_of_entries else "")
        if self.minimum is not None and self.maximum is not None:
            words += f" from {self.minimum:g} to {self.maximum:g}"
        elif self.minimum is not None:
            words += f" of at least {self.minimum:g}"
        elif self.maximum is not None:
            words += f" of at most {self.maximum:g}"
        return words + (f" ({self.unit})" if self.unit else "")

    @property
    def _has_bounds_of_entries(self) -> bool:
        return self.kind is tuple and (self.minimum, self.maximum) != (None, None)

    def check(self, value: object) -> object:
        """The value in the option's own type; text from a command line is read.

        Raises: InvalidValueError: the value is of another type or out of range.
        """
        if value is None and self.optional:
            return None
        read = self._read(value)
        if read is None or not self._in_range(read):
            raise InvalidValueError(
                f"{self.name}={value!r} is not allowed: it must be {self.allowed()}.",
                param=self.name,
            )
        return read

    def _read(self, value: object) -> bool | int | float | str | tuple[int, ...] | None:
        if self.kind is bool:
            return value if isinstance(value, bool) else _WORDS.get(str(value).lower())
        if self.kind is str:
            return value if isinstance(value, str) else None
        if self.kind is tuple:
            return _whole_numbers(value)
        return _number(value, self.kind)

    def _in_range(self, value: bool | int | float | str | tuple[int, ...]) -> bool:
        if isinstance(value, tuple):
            return bool(value) and all(self._in_range(entry) for entry in value)
        if isinstance(value, str):
            matches = bool(self.pattern) and re.fullmatch(self.pattern, value) is not None
            return matches or value in self.choices or not (self.choices or self.pattern)
        if not math.isfinite(value):
            return False
        above = self.minimum is None or value >= self.minimum
        return above and (self.maximum is None or value <= self.maximum)


def _number(value: object, kind: type) -> int | float | None:
    """The number, of its kind; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, (Real, str)):  # numpy's are Real too
        return None
    try:
        number = float(value)
        if kind is float:
            return number
        whole = int(value) if isinstance(value, (Integral, str)) else int(number)
        return whole if number.is_integer() else None
    except (ValueError, OverflowError):
        return None


def _whole_numbers(value: object) -> tuple[int, ...] | None:
    """The numbers of a list, or of a text with commas; None where one of them is none."""
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        return None
    entries = list(given)
    numbers = tuple(number for entry in entries if isinstance(number := _number(entry, int), int))
    return numbers if len(numbers) == len(entries) else None


def option(
    default: object,
    *,
    help: str,  # noqa: A002 - the word that every interface shows
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
    pattern: str = "",
    unit: str = "",
) -> Any:
    """A dataclass field that declares one option; the bounds are inclusive.

    A text is one of `choices`, or what the whole of `pattern` matches.
    """
    facts = {"minimum": minimum, "maximum": maximum, "choices": choices, "pattern": pattern}
    facts |= {"unit": unit, "help": help}
    return field(default=default, metadata={_FACTS: facts})


@dataclass(frozen=True)
class Options:
    """The base of every set of options; an engine without options uses it bare."""

    @classmethod
    def facts(cls) -> tuple[OptionFacts, ...]:
        """The declared options, in the order of their declaration."""
        hints = get_type_hints(cls)
        return tuple(
            _facts_of(entry, hints[entry.name])
            for entry in dataclasses.fields(cls)
            if _FACTS in entry.metadata
        )

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> Self:
        """The options with the given values checked and the others at their defaults.

        Raises: InvalidValueError: a name is unknown, or a value is not allowed.
        """
        facts = {entry.name: entry for entry in cls.facts()}
        for name in given:
            if name not in facts:
                raise InvalidValueError(cls._unknown(name), param=name)
        return cls(**{name: facts[name].check(value) for name, value in given.items()})

    def filled(self) -> Self:
        """The same options with what holds where nothing was said, as far as no model is needed."""
        return self

    def as_given(self) -> dict[str, object]:
        """Every option by its name, as it can be given again and written as JSON."""
        values = {facts.name: getattr(self, facts.name) for facts in self.facts()}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}

    @classmethod
    def _unknown(cls, name: str) -> str:
        names = [entry.name for entry in cls.facts()]
        known = f"the options are: {', '.join(names)}" if names else "this model has no options"
        return f"there is no option {name!r} here; {known}.{did_you_mean(name, names)}"


def _facts_of(entry: "dataclasses.Field[Any]", hint: Any) -> OptionFacts:
    choices = get_args(hint) if get_origin(hint) is UnionType else (hint,)
    [kind] = [choice for choice in choices if choice is not NoneType]
    return OptionFacts(
        name=entry.name,
        kind=get_origin(kind) or kind,
        default=entry.default,
        optional=NoneType in choices,
        **entry.metadata[_FACTS],
    )
