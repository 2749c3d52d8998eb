"""The work of `menura keys`: the keys of the server, in the file that it reads."""

from collections.abc import Sequence

from menura.cli.commands import JsonFlags
from menura.cli.keys import AddFlags, RemoveFlags
from menura.cli.terminal import accent, emit, emit_json, emit_table, note, visible
from menura.errors import InvalidValueError, did_you_mean
from menura.server.border.keys import KeyRecord, KeyStore, key_file
from menura.server.routes import Scope


def show(flags: JsonFlags) -> None:
    """Nothing; the keys stand on stdout. Raises: SettingsError: their file is broken."""
    records = KeyStore(key_file()).records()
    if flags.json:
        emit_json({"keys": [_facts(record) for record in records]})
        return
    if not records:
        emit("There is no key yet: menura serve makes the first one, or menura keys add LABEL.")
        return
    emit_table(
        ("id", "label", "scopes", "made on"),
        [(each.id, each.label, ", ".join(sorted(each.scopes)), each.made_on) for each in records],
    )


def add(flags: AddFlags) -> None:
    """Nothing; a new key stands on stdout, alone, so that it can go into a file or a variable.

    Raises: InvalidValueError: an unknown scope, or a label that is empty or too long; OutputError.
    """
    scopes = _scopes(flags.scope or [Scope.SPEAK])
    made = KeyStore(key_file()).add(flags.label, scopes)
    if flags.json:
        emit_json(_facts(made.record) | {"key": made.key})
        return
    emit(made.key)
    told = ", ".join(sorted(made.record.scopes))
    note(f"{accent(made.record.id, 'stderr')}  {told}; the key is shown this once")


def remove(flags: RemoveFlags) -> None:
    """Nothing; the key is gone. Raises: InvalidValueError: there is no such key; OutputError."""
    record = KeyStore(key_file()).remove(flags.id)
    if flags.json:
        emit_json({"removed": _facts(record)})
    else:
        note(f"{accent(record.id, 'stderr')}  removed ({visible(record.label)})")


def _scopes(given: Sequence[str]) -> frozenset[Scope]:
    words = [scope.value for scope in Scope]
    for word in given:
        if word not in words:
            raise InvalidValueError(
                f"scope {word!r} is not one of: {', '.join(words)}." + did_you_mean(word, words),
                param="--scope",
            )
    return frozenset(Scope(word) for word in given)


def _facts(record: KeyRecord) -> dict[str, object]:
    return {
        "id": record.id,
        "label": record.label,
        "scopes": sorted(record.scopes),
        "made_on": record.made_on,
    }
