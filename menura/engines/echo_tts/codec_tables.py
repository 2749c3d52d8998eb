"""The published names of the autoencoder's tensors, for the parameters of our modules.

A table maps the beginnings of our parameters' names to those of the published ones; what follows
is the same in both.
"""

from collections.abc import Collection, Iterator

from menura.engines.echo_tts.config import AutoencoderConfig, WindowedTransformerConfig
from menura.nn.codec_blocks import DILATIONS
from menura.runtime.tensor_names import Share, Source, weight_norm_pair

Names = dict[str, str]

_BLOCK = {
    "attention.output.": "attention.wo.",
    "attention_norm.": "attention_norm.",
    "attention_scale.weight": "attention_layer_scale.gamma",
    "feed_forward_norm.": "ffn_norm.",
    "feed_forward_scale.weight": "ffn_layer_scale.gamma",
    "feed_forward.gate.": "feed_forward.w1.",
    "feed_forward.down.": "feed_forward.w2.",
    "feed_forward.up.": "feed_forward.w3.",
}
# Three weights are stored as one, in this order.
_FUSED = "attention.wqkv."
_FUSED_PARTS = ("query", "key", "value")
_MIX = {
    "depthwise.": "dwconv.",
    "norm.": "norm.",
    "expand.": "pwconv1.",
    "shrink.": "pwconv2.",
    "gamma": "gamma",
}
_UNIT = {"dilated_act.": 0, "dilated.": 1, "pointwise_act.": 2, "pointwise.": 3}
# Tables that upstream stores with the weights: we make them when they are needed.
BUFFERS = ("causal_mask", "freqs_cis")


def table(config: AutoencoderConfig) -> Names:
    """The beginnings of names for the parts `encoder`, `quantizer` and `decoder`."""
    return _encoder(config) | _quantizer(config) | _decoder(config)


def source(name: str, published: str, stored: Collection[str]) -> Source:
    """What is stored for our parameter of this name, in a file that holds these tensors."""
    owner, _, kind = name.rpartition(".")
    part = owner.rpartition(".")[2]
    if _FUSED in published:
        return Share(published, _FUSED_PARTS.index(part), len(_FUSED_PARTS))
    if kind == "weight" and _is_normed(published):
        return weight_norm_pair(published, stored)
    return published


def _is_normed(published: str) -> bool:
    """Whether a published weight has a gain: the convolutions, and the codebooks' projections."""
    if published.startswith("quantizer."):
        return published.endswith(("in_proj.weight", "out_proj.weight"))
    return published.endswith(".conv.weight")


def buffers(config: AutoencoderConfig) -> frozenset[str]:
    """The stored tables that no parameter takes: they may be in the file, or not."""
    owners = ["quantizer.pre_module", "quantizer.post_module"]
    if config.encoder_transformer is not None:
        owners.append(_encoder_transformer_name(config))
    return frozenset(f"{owner}.{buffer}" for owner in owners for buffer in BUFFERS)


def _encoder_transformer_name(config: AutoencoderConfig) -> str:
    """Its place: after the units, the activation and the stride of the last block."""
    return f"encoder.block.{len(config.encoder_rates)}.block.{len(DILATIONS) + 2}"


def _encoder(config: AutoencoderConfig) -> Names:
    n_blocks, n_units = len(config.encoder_rates), len(DILATIONS)
    names = {
        "encoder.input_conv.": "encoder.block.0.",
        "encoder.output_act.": f"encoder.block.{n_blocks + 1}.",
        "encoder.output_conv.": f"encoder.block.{n_blocks + 2}.",
    }
    for block in range(n_blocks):
        ours, theirs = f"encoder.blocks.{block}.", f"encoder.block.{block + 1}.block."
        names |= _units(ours, theirs, 0)
        names |= {f"{ours}act.": f"{theirs}{n_units}.", f"{ours}down.": f"{theirs}{n_units + 1}."}
    if config.encoder_transformer is not None:
        theirs = f"{_encoder_transformer_name(config)}."
        names |= _transformer("encoder.transformer.", theirs, config.encoder_transformer)
    return names


def _decoder(config: AutoencoderConfig) -> Names:
    n_blocks = len(config.decoder_rates)
    names = {
        "decoder.input_conv.": "decoder.model.0.",
        "decoder.output_act.": f"decoder.model.{n_blocks + 1}.",
        "decoder.output_conv.": f"decoder.model.{n_blocks + 2}.",
    }
    for block in range(n_blocks):
        ours, theirs = f"decoder.blocks.{block}.", f"decoder.model.{block + 1}.block."
        names |= {f"{ours}act.": f"{theirs}0.", f"{ours}up.": f"{theirs}1."}
        names |= _units(ours, theirs, 2)
    return names


def _units(ours: str, theirs: str, first: int) -> Names:
    return {
        f"{ours}units.{unit}.{inner}": f"{theirs}{first + unit}.block.{place}."
        for unit in range(len(DILATIONS))
        for inner, place in _UNIT.items()
    }


def _quantizer(config: AutoencoderConfig) -> Names:
    inner = config.quantizer_transformer
    names = {
        "quantizer.semantic.": "quantizer.semantic_quantizer.",
        "quantizer.residual.": "quantizer.quantizer.",
    }
    names |= _transformer("quantizer.pre.", "quantizer.pre_module.", inner)
    names |= _transformer("quantizer.post.", "quantizer.post_module.", inner)
    for level in range(len(config.downsample_factors)):
        names |= dict(_step(f"quantizer.downsampling.{level}.", "down.", "downsample", level))
        names |= dict(_step(f"quantizer.upsampling.{level}.", "up.", "upsample", level))
    return names


def _step(ours: str, move: str, published: str, level: int) -> Iterator[tuple[str, str]]:
    theirs = f"quantizer.{published}.{level}."
    yield f"{ours}{move}", f"{theirs}0."
    for inner, name in _MIX.items():
        yield f"{ours}mix.{inner}", f"{theirs}1.{name}"


def _transformer(ours: str, theirs: str, config: WindowedTransformerConfig) -> Names:
    block = _BLOCK | {f"attention.{part}.": _FUSED for part in _FUSED_PARTS}
    layers = {
        f"{ours}stack.blocks.{layer}.{inner}": f"{theirs}layers.{layer}.{published}"
        for layer in range(config.n_layers)
        for inner, published in block.items()
    }
    return layers | {f"{ours}stack.final_norm.": f"{theirs}norm."}
