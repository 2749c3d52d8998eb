"""What upstream's modules give, by their names in upstream's tree.

Used by the parity tests and by `bench.echo_tts.upstream_activations`; it imports nothing of Menura.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Outputs = dict[str, Any]


@contextmanager
def hooked(module: Any, wanted: Callable[[str], bool]) -> Iterator[Outputs]:
    """The outputs [...] of the submodules whose names are wanted, while it is open.

    The second output of a module is named `NAME.1`.
    """
    outputs: Outputs = {}

    def listen(name: str) -> Callable[[Any, Any, Any], None]:
        def note(_: Any, given: Any, made: Any) -> None:
            del given
            parts = made if isinstance(made, tuple) else (made,)
            for i, part in enumerate(parts):
                if hasattr(part, "detach"):
                    outputs[name if i == 0 else f"{name}.{i}"] = part.detach().clone()

        return note

    handles = [
        submodule.register_forward_hook(listen(name))
        for name, submodule in module.named_modules()
        if name and wanted(name)
    ]
    yield outputs
    for handle in handles:
        handle.remove()


def listening(
    model: Any, *, ids: Any, text_mask: Any, speaker: Any, speaker_mask: Any, x: Any, time: float,
    prefix: Any = None,
) -> Outputs:  # fmt: skip
    """Every module's output of one velocity at `time`, its conditioning, and the keys and values.

    ids [1, S], speaker [1, L, C], x and prefix [1, T, C]. Names begin with `cond.`, `kv.` or
    `plain.`; the row's leading axis is left out.
    """
    import torch  # noqa: PLC0415

    kind = model.dtype
    with hooked(model, _is_no_list) as conditioning:
        caches = {"text": model.get_kv_cache_text(ids, text_mask)}
        caches["speaker"] = model.get_kv_cache_speaker(speaker.to(kind))
        if prefix is not None:
            caches["latent"] = model.get_kv_cache_latent(prefix.to(kind))
    found = {f"cond.{name}": value for name, value in conditioning.items()}
    for name, layers in caches.items():
        for i, (keys, values) in enumerate(layers):
            found |= {f"kv.{name}.{i}.k": keys, f"kv.{name}.{i}.v": values}
    with hooked(model, _is_no_list) as trunk:
        velocity = model(
            x=x.to(kind), t=torch.tensor([time]).to(kind), text_mask=text_mask,
            speaker_mask=speaker_mask, kv_cache_text=caches["text"],
            kv_cache_speaker=caches["speaker"],
        )  # fmt: skip
    found |= {f"plain.{name}": value for name, value in trunk.items()}
    return {name: value[0] for name, value in found.items()} | {"plain.v_pred": velocity[0]}


def _is_no_list(name: str) -> bool:
    return not name.endswith("blocks")
