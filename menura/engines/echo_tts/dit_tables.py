"""The published names of the transformer's tensors, for the parameters of our modules.

A table maps the beginnings of our parameters' names to those of the published ones; what follows
is the same in both.
"""

from menura.engines.echo_tts.config import DiTConfig

Names = dict[str, str]

_ATTENTION = {
    "query.": "wq.",
    "key.": "wk.",
    "value.": "wv.",
    "gate.": "gate.",
    "output.": "wo.",
    "query_norm.": "q_norm.",
    "key_norm.": "k_norm.",
}
_CONTEXTS = {
    f"{context}.{kind}.": f"{published}_{context}."
    for context in ("text", "speaker")
    for kind, published in (("key", "wk"), ("value", "wv"))
}
_FEED_FORWARD = {"gate.": "w1.", "down.": "w2.", "up.": "w3."}
_ADAPTIVE = {
    f"{what}.{step}.": f"{what}_{step}."
    for what in ("shift", "scale", "gate")
    for step in ("down", "up")
}
_ENCODER_BLOCK = (
    {f"attention.{ours}": f"attention.{theirs}" for ours, theirs in _ATTENTION.items()}
    | {f"feed_forward.{ours}": f"mlp.{theirs}" for ours, theirs in _FEED_FORWARD.items()}
    | {"attention_norm.": "attention_norm.", "feed_forward_norm.": "mlp_norm."}
)
_TRUNK_BLOCK = (
    {
        f"attention.{ours}": f"attention.{theirs}"
        for ours, theirs in (_ATTENTION | _CONTEXTS).items()
    }
    | {f"feed_forward.{ours}": f"mlp.{theirs}" for ours, theirs in _FEED_FORWARD.items()}
    | {f"attention_norm.{ours}": f"attention_adaln.{theirs}" for ours, theirs in _ADAPTIVE.items()}
    | {f"feed_forward_norm.{ours}": f"mlp_adaln.{theirs}" for ours, theirs in _ADAPTIVE.items()}
)


def dit_table(config: DiTConfig) -> Names:
    """The beginnings of names for the part `dit`, an `EchoDiT` without blockwise parts."""
    names = {f"dit.{kept}.": f"{kept}." for kept in ("in_proj", "out_norm", "out_proj")}
    names |= {
        "dit.timestep.input.": "cond_module.0.",
        "dit.timestep.inner.": "cond_module.2.",
        "dit.timestep.output.": "cond_module.4.",
        "dit.text_encoder.embedding.": "text_encoder.text_embedding.",
        "dit.speaker_encoder.in_proj.": "speaker_encoder.in_proj.",
    }
    names |= _encoder("dit.text_encoder.", "text", config.text.n_layers)
    names |= _encoder("dit.speaker_encoder.", "speaker", config.speaker.n_layers)
    return names | _blocks("dit.", "", _TRUNK_BLOCK, config.n_layers)


def blockwise_table(config: DiTConfig) -> Names:
    """The beginnings of names for the part `blockwise`, a `BlockwiseParts`."""
    names = {"blockwise.encoder.in_proj.": "latent_encoder.in_proj."}
    names |= _encoder("blockwise.encoder.", "latent", config.speaker.n_layers)
    for layer in range(config.n_layers):
        ours, theirs = f"blockwise.projections.{layer}.", f"blocks.{layer}.attention."
        names |= {f"{ours}key.": f"{theirs}wk_latent.", f"{ours}value.": f"{theirs}wv_latent."}
    return names


def _encoder(ours: str, published: str, n_layers: int) -> Names:
    names = _blocks(f"{ours}stack.", f"{published}_encoder.", _ENCODER_BLOCK, n_layers)
    return names | {f"{ours}stack.final_norm.": f"{published}_norm."}


def _blocks(ours: str, theirs: str, block: Names, n_layers: int) -> Names:
    return {
        f"{ours}blocks.{layer}.{inner}": f"{theirs}blocks.{layer}.{published}"
        for layer in range(n_layers)
        for inner, published in block.items()
    }
