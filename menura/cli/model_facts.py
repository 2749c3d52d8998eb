"""The work of `menura models list`, `show` and `path`: what is known of models and what is here."""

from menura import models
from menura.catalogue import KnownModel, known_models
from menura.cli.commands import JsonFlags
from menura.cli.models import OneModel
from menura.cli.quantities import size
from menura.cli.terminal import dim, emit, emit_facts, emit_json, emit_table
from menura.engines import registry
from menura.models import InstalledModel

NO_ENGINE = "no engine of this installation speaks with it yet"


def has_engine(known: KnownModel) -> bool:
    """Whether an engine of this installation can speak with the model."""
    return known.engine in registry.names()


def list_models(flags: JsonFlags) -> None:
    """Nothing; all known models are listed."""
    found = [models.show(known.name) for known in known_models()]
    if flags.json:
        emit_json({"models": [_facts(model) for model in found]})
        return
    emit_table(
        ("model", "here", "download", "can", "licence"),
        [
            (
                model.name if has_engine(known) else f"{model.name} *",
                _here(model),
                _download(known),
                ", ".join(sorted(known.capabilities)),
                known.weights_licence,
            )
            for model, known in zip(found, known_models(), strict=True)
        ],
    )
    emit()
    if not all(has_engine(known) for known in known_models()):
        emit(dim(f"*  {NO_ENGINE}", "stdout"))
    emit(
        dim("Bring one with: menura models pull MODEL    More: menura models show MODEL", "stdout")
    )


def show(flags: OneModel) -> None:
    """Nothing; what is known of a model, and what is here, is shown."""
    model = models.show(flags.name)
    if flags.json:
        emit_json(_facts(model))
        return
    emit_facts(
        [
            ("model", model.name),
            ("here", _here(model)),
            *(_described(model.known) if model.known else []),
            ("missing", ", ".join(model.missing)),
            *(("path", str(place)) for place in model.paths),
        ]
    )


def _described(known: KnownModel) -> list[tuple[str, str]]:
    return [
        ("what it is", known.description),
        ("engine", known.engine if has_engine(known) else f"{known.engine} ({NO_ENGINE})"),
        ("can", ", ".join(sorted(known.capabilities))),
        ("languages", ", ".join(known.languages)),
        ("sample rate", f"{known.sample_rate_hz} Hz"),
        ("licence", known.weights_licence),
        ("speech licence", known.output_licence),
        ("download", _download(known)),
        ("from", ", ".join(repo.hub_id for repo in known.repos)),
    ]


def path(flags: OneModel) -> None:
    """Nothing; the model's folders or file stand on stdout, one a line."""
    places = models.path(flags.name)
    if flags.json:
        emit_json({"name": flags.name, "paths": [str(place) for place in places]})
        return
    for place in places:
        emit(str(place))


def _facts(model: InstalledModel) -> dict[str, object]:
    known = model.known
    facts: dict[str, object] = {
        "name": model.name,
        "here": model.is_complete,
        "paths": [str(place) for place in model.paths],
        "n_bytes": model.n_bytes,
        "missing": list(model.missing),
    }
    if known is not None:
        facts |= {
            "description": known.description,
            "engine": known.engine,
            "capabilities": sorted(known.capabilities),
            "languages": list(known.languages),
            "licence": known.licence,
            "download_bytes": known.download_bytes,
            "download_is_approximate": known.is_approximate,
            "hub_ids": [repo.hub_id for repo in known.repos],
            "engine_installed": has_engine(known),
        }
    return facts


def _here(model: InstalledModel) -> str:
    if model.is_complete:
        return "yes" if model.source is models.Source.BUILTIN else f"yes, {size(model.n_bytes)}"
    return "partly" if model.paths else "-"


def _download(known: KnownModel) -> str:
    if not known.repos:
        return "none"
    return size(known.download_bytes, about=known.is_approximate)
