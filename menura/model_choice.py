"""From a model's name to its engine: which class loads it, from where, with which arguments."""

import os
from dataclasses import replace
from pathlib import Path

from menura import catalogue, models, settings
from menura.engines import registry
from menura.engines.contract import Engine, EngineClass, LoadArguments
from menura.errors import InvalidValueError, UnsupportedError


def found(name_or_folder: str | os.PathLike[str]) -> tuple[EngineClass, models.ResolvedModel]:
    """The model on this machine and the class that loads it; the engine is asked for first."""
    if not isinstance(name_or_folder, (str, os.PathLike)) or not os.fspath(name_or_folder):
        raise InvalidValueError(
            f"the model must be a name or a folder, not {name_or_folder!r}; leave it out for the "
            "default model.",
            param="model",
        )
    known = catalogue.lookup(os.fspath(name_or_folder))
    if known is not None:
        registry.engine_class(known.engine)  # nobody should pull gigabytes to learn that it lacks
    model = models.resolve(name_or_folder)
    if model.known is not None or model.folder is None:
        name = model.known.engine if model.known is not None else model.name
    else:
        name = registry.recognise(model.folder)
    return registry.engine_class(name), model


def loaded(
    engine_class: EngineClass,
    folder: Path | None,
    arguments: LoadArguments,
    chosen: settings.Settings,
) -> tuple[Engine, dict[str, str]]:
    """The engine, and the settings that it cannot heed: a wish for the models that can.

    What was asked for this very model is strict. Raises: UnsupportedError.
    """
    unheeded: dict[str, str] = {}
    while True:
        try:
            return engine_class.load(folder, arguments), unheeded
        except UnsupportedError as error:
            param = error.param or ""
            asked = chosen.sources.get(param, "flag") == "flag"
            if asked or param in unheeded or param not in ("device", "precision"):
                raise
            unheeded[param] = error.message
            device = "auto" if param == "device" else arguments.device
            precision = "auto" if param == "precision" else arguments.precision
            arguments = replace(arguments, device=device, precision=precision)
