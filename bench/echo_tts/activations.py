"""What every module of our diffusion transformer gives at one time, by upstream's module names.

So a dump can be laid beside one that was made with forward hooks on upstream's modules
(`bench.echo_tts.upstream_activations`, or any other script). A name begins with `cond.` while the
conditioning is encoded, `kv.` for the keys and values of a context, `plain.` while one velocity is
computed; then comes the module's name in upstream's tree:

    upstream                              here
    text_encoder, speaker_encoder         ..._encoder.stack, before its final norm
    text_norm, speaker_norm               ..._encoder.stack.final_norm
    latent_encoder, latent_norm           blockwise.encoder.stack, .final_norm
    ....mlp, .mlp_norm                    .feed_forward, .feed_forward_norm
    ....w1, .w3, .w2                      .gate, .up, .down
    ....wq, .wk, .wv, .wo                 .query, .key, .value, .output
    ....q_norm, .k_norm                   .query_norm, .key_norm
    blocks.N.attention.wk_text            blocks.N.attention.text.key (speaker, and values, alike)
    blocks.N.attention.wk_latent          blockwise.projections.N.key
    blocks.N.attention_adaln, mlp_adaln   .attention_norm, .feed_forward_norm; `.1` is the gate
    ....shift_down, .shift_up             .shift.down, .shift.up (scale and gate alike)
    cond_module, .0, .2, .4               timestep, .input, .inner, .output

Legend: S ids, L reference latents, T latents, C latent channels.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from menura.engines.echo_tts.dit import EchoDiT, Keys, Lane

Outputs = dict[str, Tensor]
_ENCODER = {
    "attention": "attention",
    "attention_norm": "attention_norm",
    "mlp": "feed_forward",
    "mlp_norm": "feed_forward_norm",
}
_ATTENTION = {
    "wq": "query", "wk": "key", "wv": "value", "wo": "output", "gate": "gate",
    "q_norm": "query_norm", "k_norm": "key_norm",
}  # fmt: skip
_FEED_FORWARD = {"w1": "gate", "w3": "up", "w2": "down"}
_ADALN = {"attention_adaln": "attention_norm", "mlp_adaln": "feed_forward_norm"}
_TIMESTEP = {
    "cond_module": "timestep",
    "cond_module.0": "timestep.input",
    "cond_module.2": "timestep.inner",
    "cond_module.4": "timestep.output",
}


@dataclass(frozen=True)
class Given:
    """What the model is given: ids int64 [S], reference [L, C], latents [T, C] at a time.

    `prefix` [T, C] are earlier latents for the blockwise parts, where those are loaded.
    """

    ids: Tensor
    speaker: Tensor
    latents: Tensor
    time: float
    prefix: Tensor | None = None


def activations(dit: EchoDiT, given: Given, wanted: Callable[[str], bool] = bool) -> Outputs:
    """The outputs [...] of the wanted modules, the keys and values [S, H, d], and the velocity."""
    modules = {name: dit.get_submodule(path) for name, path in paths(dit).items()}
    modules = {name: module for name, module in modules.items() if wanted(name)}
    with torch.inference_mode(), hooked(modules) as conditioning:
        contexts = {"text": dit.text_keys(given.ids), "speaker": dit.speaker_keys(given.speaker)}
        if given.prefix is not None:
            contexts["latent"] = dit.latent_keys(given.prefix)
    with torch.inference_mode(), hooked(modules) as trunk:
        [modulation] = dit.modulations(torch.tensor([given.time]))
        lane = Lane(given.latents, (contexts["text"], contexts["speaker"]), modulation)
        [velocity] = dit.velocities([lane])
    found = {f"cond.{name}": value for name, value in conditioning.items()}
    found |= {name: value for kind in contexts for name, value in _keys(kind, contexts[kind])}
    found |= {f"plain.{name}": value for name, value in trunk.items()}
    for layer in range(len(dit.blocks)):
        gates = modulation.attention[layer].gate, modulation.feed_forward[layer].gate
        for name, gate in zip(_ADALN, gates, strict=True):
            if wanted(f"blocks.{layer}.{name}.1"):
                found[f"plain.blocks.{layer}.{name}.1"] = gate
    return found | {"plain.v_pred": velocity}


@contextmanager
def hooked(modules: Mapping[str, nn.Module]) -> Iterator[Outputs]:
    """The last output [...] of each module by its name, while it is open."""
    outputs: Outputs = {}

    def listen(name: str) -> Callable[[nn.Module, object, Tensor], None]:
        def note(module: nn.Module, given: object, made: Tensor) -> None:
            del module, given
            outputs[name] = made.detach().clone()

        return note

    handles = [module.register_forward_hook(listen(name)) for name, module in modules.items()]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def paths(dit: EchoDiT) -> dict[str, str]:
    """Our module's path for each of upstream's module names."""
    config = dit.config
    found = {name: name for name in ("in_proj", "out_norm", "out_proj")} | _TIMESTEP
    found["text_encoder.text_embedding"] = "text_encoder.embedding"
    encoders = {"text": "text_encoder", "speaker": "speaker_encoder"}
    if dit.blockwise is not None:
        encoders["latent"] = "blockwise.encoder"
    for kind, path in encoders.items():
        n_layers = config.text.n_layers if kind == "text" else config.speaker.n_layers
        found |= _encoder(kind, path, n_layers)
    for layer in range(config.n_layers):
        found |= _block(layer, with_blockwise=dit.blockwise is not None)
    return found


def _encoder(kind: str, path: str, n_layers: int) -> dict[str, str]:
    found = {f"{kind}_norm": f"{path}.stack.final_norm"}
    if kind != "text":
        found[f"{kind}_encoder.in_proj"] = f"{path}.in_proj"
    for layer in range(n_layers):
        theirs, ours = f"{kind}_encoder.blocks.{layer}", f"{path}.stack.blocks.{layer}"
        found[theirs] = ours
        found |= {f"{theirs}.{name}": f"{ours}.{own}" for name, own in _ENCODER.items()}
        found |= _leaves(theirs, ours)
    found[f"{kind}_encoder"] = f"{path}.stack.blocks.{n_layers - 1}"
    return found


def _leaves(theirs: str, ours: str) -> dict[str, str]:
    """The layers inside the attention and the feed-forward network of a block."""
    return {
        f"{theirs}.attention.{name}": f"{ours}.attention.{own}" for name, own in _ATTENTION.items()
    } | {
        f"{theirs}.mlp.{name}": f"{ours}.feed_forward.{own}" for name, own in _FEED_FORWARD.items()
    }


def _block(layer: int, *, with_blockwise: bool) -> dict[str, str]:
    root = f"blocks.{layer}"
    attention = f"{root}.attention"
    found = {root: root, attention: attention, f"{root}.mlp": f"{root}.feed_forward"}
    found |= _leaves(root, root)
    for name, own in _ADALN.items():
        found[f"{root}.{name}"] = f"{root}.{own}"
        for part in ("shift", "scale", "gate"):
            for end in ("down", "up"):
                found[f"{root}.{name}.{part}_{end}"] = f"{root}.{own}.{part}.{end}"
    contexts = {kind: f"{attention}.{kind}" for kind in ("text", "speaker")}
    if with_blockwise:
        contexts["latent"] = f"blockwise.projections.{layer}"
    for kind, path in contexts.items():
        found |= {
            f"{attention}.wk_{kind}": f"{path}.key",
            f"{attention}.wv_{kind}": f"{path}.value",
        }
    return found


def _keys(kind: str, layers: Keys) -> Iterator[tuple[str, Tensor]]:
    for layer, (keys, values) in enumerate(layers):
        # Upstream has the positions before the heads.
        yield f"kv.{kind}.{layer}.k", keys.transpose(0, 1)
        yield f"kv.{kind}.{layer}.v", values.transpose(0, 1)
