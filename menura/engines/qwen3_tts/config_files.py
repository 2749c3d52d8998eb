"""The configuration of a checkpoint's folder, read strictly into the classes of `config.py`.

Three files: `config.json` (variant, talker, code predictor, speaker encoder, ids),
`generation_config.json` (the checkpoint's own sampling values; may be missing) and
`speech_tokenizer/config.json` (the 12.5 Hz codec).
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from menura.engines.qwen3_tts.config import (
    CodecConfig,
    CodecDecoderConfig,
    CodecEncoderConfig,
    CodePredictorConfig,
    GenerationDefaults,
    Qwen3TTSConfig,
    SpeakerEncoderConfig,
    TalkerConfig,
    TransformerConfig,
)
from menura.errors import ModelFilesError
from menura.runtime.json_fields import Fields, read_fields

CODEC_FOLDER = "speech_tokenizer"
VARIANTS = ("base", "custom_voice", "voice_design")
SIZES = ("0b6", "1b7")
TOKENIZER_TYPE = "qwen3_tts_tokenizer_12hz"

# Far above every published value, and far below what would exhaust a machine.
_MAX_SIZE = 16_384
_MAX_LAYERS = 128
_MAX_HEADS = 256
_MAX_ENTRIES = 1_000_000
_MAX_CODEBOOKS = 64
_MAX_KERNEL = 64
_MAX_RATE_HZ = 192_000


def read_config(folder: Path) -> Qwen3TTSConfig:
    """The checkpoint's configuration, every value checked; no weight is read.

    Raises: ModelFilesError: a file or key is missing, has a wrong type or is out of range, or two
        of them contradict each other; the message names the file and the key.
    """
    top = read_fields(folder / "config.json")
    top.word("model_type", "qwen3_tts")
    _refuse_25_hz(top, "tokenizer_type")
    variant = top.word("tts_model_type", *VARIANTS)
    talker = _talker(top.section("talker_config"))
    text_id = talker.text_vocab_size - 1
    encoder = _speaker_encoder(top.section("speaker_encoder_config")) if variant == "base" else None
    if encoder is not None and encoder.embedding_size != talker.transformer.hidden_size:
        raise top.section("speaker_encoder_config").wrong(
            "enc_dim", f"the talker's hidden_size, {talker.transformer.hidden_size}"
        )
    return Qwen3TTSConfig(
        variant=variant,
        size=top.word("tts_model_size", *SIZES),
        talker=talker,
        speaker_encoder=encoder,
        codec=_codec(folder / CODEC_FOLDER / "config.json", talker),
        generation=_generation(folder / "generation_config.json"),
        im_start_id=top.whole("im_start_token_id", 0, text_id),
        im_end_id=top.whole("im_end_token_id", 0, text_id),
        tts_bos_id=top.whole("tts_bos_token_id", 0, text_id),
        tts_eos_id=top.whole("tts_eos_token_id", 0, text_id),
        tts_pad_id=top.whole("tts_pad_token_id", 0, text_id),
        claims_case_split=_claims_case_split(top),
    )


def _refuse_25_hz(found: Fields, key: str) -> None:
    try:
        found.word(key, TOKENIZER_TYPE)
    except ModelFilesError as error:
        raise ModelFilesError(
            f"{error.message} Menura runs the 12.5 Hz models; the 25 Hz tokenizer "
            "(qwen3_tts_tokenizer_25hz) is another codec, which no published model uses."
        ) from error


def _claims_case_split(top: Fields) -> bool:
    """Whether the file names no version of transformers, or one above 4.57.2."""
    version = top.text("transformers_version")
    numbers = [int(digits) for digits in re.findall(r"\d+", version or "")[:3]]
    return version is None or numbers > [4, 57, 2]


def _talker(found: Fields) -> TalkerConfig:
    found.expect(
        hidden_act="silu", attention_bias=False, sliding_window=None, use_sliding_window=False
    )
    n_codes = found.whole("vocab_size", 1, _MAX_ENTRIES)
    n_codebooks = found.whole("num_code_groups", 2, _MAX_CODEBOOKS)
    predictor = _code_predictor(found.section("code_predictor_config"), n_codebooks)
    language_ids = found.ids("codec_language_id", n_codes)
    speaker_ids = found.ids("spk_id", n_codes)
    return TalkerConfig(
        transformer=_transformer(found),
        code_predictor=predictor,
        text_hidden_size=found.whole("text_hidden_size", 1, _MAX_SIZE),
        text_vocab_size=found.whole("text_vocab_size", 1, _MAX_ENTRIES),
        codec_vocab_size=n_codes,
        n_codebooks=n_codebooks,
        pad_id=found.whole("codec_pad_id", 0, n_codes - 1),
        bos_id=found.whole("codec_bos_id", 0, n_codes - 1),
        eos_id=found.whole("codec_eos_token_id", 0, n_codes - 1),
        think_id=found.whole("codec_think_id", 0, n_codes - 1),
        nothink_id=found.whole("codec_nothink_id", 0, n_codes - 1),
        think_bos_id=found.whole("codec_think_bos_id", 0, n_codes - 1),
        think_eos_id=found.whole("codec_think_eos_id", 0, n_codes - 1),
        language_ids=language_ids,
        speaker_ids=speaker_ids,
        speaker_dialects=_dialects(found, speaker_ids, language_ids),
    )


def _dialects(
    found: Fields, speakers: Mapping[str, int], languages: Mapping[str, int]
) -> Mapping[str, str]:
    """The dialect of each speaker that has one; a speaker that is not listed has none."""
    dialects: dict[str, str] = {}
    for speaker, dialect in found.named("spk_is_dialect").items():
        if dialect is False or dialect is None:
            continue
        if not isinstance(dialect, str) or dialect not in languages or speaker not in speakers:
            raise found.wrong(
                "spk_is_dialect", "speakers of spk_id with false or a name of codec_language_id"
            )
        dialects[speaker] = dialect
    return MappingProxyType(dialects)


def _code_predictor(found: Fields, n_codebooks: int) -> CodePredictorConfig:
    found.expect(
        hidden_act="silu", attention_bias=False, sliding_window=None, use_sliding_window=False
    )
    found.whole("num_code_groups", n_codebooks, n_codebooks)
    return CodePredictorConfig(
        transformer=_transformer(found),
        codebook_size=found.whole("vocab_size", 1, _MAX_ENTRIES),
        n_codebooks=n_codebooks,
    )


def _transformer(found: Fields, eps_key: str = "rms_norm_eps") -> TransformerConfig:
    n_heads = found.whole("num_attention_heads", 1, _MAX_HEADS)
    n_kv_heads = found.whole("num_key_value_heads", 1, n_heads)
    head_dim = found.whole("head_dim", 2, 1024)
    if n_heads % n_kv_heads:
        raise found.wrong("num_key_value_heads", f"a divisor of num_attention_heads, {n_heads}")
    if head_dim % 2:
        raise found.wrong("head_dim", "an even number")
    return TransformerConfig(
        hidden_size=found.whole("hidden_size", 1, _MAX_SIZE),
        intermediate_size=found.whole("intermediate_size", 1, 4 * _MAX_SIZE),
        n_layers=found.whole("num_hidden_layers", 1, _MAX_LAYERS),
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_dim=head_dim,
        norm_eps=found.number(eps_key, 0.0, 1.0),
        rope_theta=found.number("rope_theta", 1.0, 1e12),
    )


def _speaker_encoder(found: Fields) -> SpeakerEncoderConfig:
    """The file usually says only the width and the rate; the rest is the architecture's own."""
    config = SpeakerEncoderConfig(
        sample_rate_hz=found.whole("sample_rate", 1, _MAX_RATE_HZ),
        n_mels=found.whole("mel_dim", 1, 1024, default=128),
        embedding_size=found.whole("enc_dim", 1, _MAX_SIZE),
        channels=found.wholes("enc_channels", 1, _MAX_SIZE, default=(512, 512, 512, 512, 1536)),
        kernel_sizes=found.wholes("enc_kernel_sizes", 1, _MAX_KERNEL, default=(5, 3, 3, 3, 1)),
        dilations=found.wholes("enc_dilations", 1, _MAX_KERNEL, default=(1, 2, 3, 4, 1)),
        attention_channels=found.whole("enc_attention_channels", 1, _MAX_SIZE, default=128),
        res2net_scale=found.whole("enc_res2net_scale", 2, 64, default=8),
        squeeze_channels=found.whole("enc_se_channels", 1, _MAX_SIZE, default=128),
    )
    n_layers = len(config.channels)
    for key, sizes in (
        ("enc_kernel_sizes", config.kernel_sizes),
        ("enc_dilations", config.dilations),
    ):
        if len(sizes) != n_layers or n_layers < 3:
            raise found.wrong(key, f"as long as enc_channels ({n_layers}), and at least 3")
    if any(size % config.res2net_scale for size in config.channels[1:-1]):
        raise found.wrong("enc_channels", f"multiples of enc_res2net_scale {config.res2net_scale}")
    return config


def _generation(path: Path) -> GenerationDefaults:
    if not path.exists():
        return GenerationDefaults()
    found, usual = read_fields(path), GenerationDefaults()
    return GenerationDefaults(
        do_sample=found.flag("do_sample", default=usual.do_sample),
        top_k=found.whole("top_k", 0, _MAX_ENTRIES, default=usual.top_k),
        top_p=found.number("top_p", 0.0, 1.0, default=usual.top_p),
        temperature=found.number("temperature", 0.0, 100.0, default=usual.temperature),
        repetition_penalty=found.number(
            "repetition_penalty", 0.01, 100.0, default=usual.repetition_penalty
        ),
        subtalker_dosample=found.flag("subtalker_dosample", default=usual.subtalker_dosample),
        subtalker_top_k=found.whole(
            "subtalker_top_k", 0, _MAX_ENTRIES, default=usual.subtalker_top_k
        ),
        subtalker_top_p=found.number("subtalker_top_p", 0.0, 1.0, default=usual.subtalker_top_p),
        subtalker_temperature=found.number(
            "subtalker_temperature", 0.0, 100.0, default=usual.subtalker_temperature
        ),
        max_new_tokens=found.whole("max_new_tokens", 2, 2**20, default=usual.max_new_tokens),
    )


def _codec(path: Path, talker: TalkerConfig) -> CodecConfig:
    found = read_fields(path)
    _refuse_25_hz(found, "model_type")
    n_codebooks = found.whole("encoder_valid_num_quantizers", 1, _MAX_CODEBOOKS)
    if n_codebooks != talker.n_codebooks:
        raise found.wrong(
            "encoder_valid_num_quantizers",
            f"the talker's num_code_groups in config.json, {talker.n_codebooks}",
        )
    input_samples_per_frame = found.whole("encode_downsample_rate", 1, _MAX_RATE_HZ)
    config = CodecConfig(
        encoder=_codec_encoder(found, input_samples_per_frame),
        decoder=_codec_decoder(found.section("decoder_config"), n_codebooks),
        n_codebooks=n_codebooks,
        input_rate_hz=found.whole("input_sample_rate", 1, _MAX_RATE_HZ),
        sample_rate_hz=found.whole("output_sample_rate", 1, _MAX_RATE_HZ),
        input_samples_per_frame=input_samples_per_frame,
        samples_per_frame=found.whole("decode_upsample_rate", 1, _MAX_RATE_HZ),
    )
    up = math.prod((*config.decoder.upsampling_ratios, *config.decoder.upsample_rates))
    if up != config.samples_per_frame:
        raise found.wrong("decode_upsample_rate", f"what the decoder's rates give, {up}")
    rate_hz = config.input_rate_hz * up / input_samples_per_frame
    if config.sample_rate_hz != rate_hz:
        raise found.wrong("output_sample_rate", f"{rate_hz:g}, so that frames last as long as in")
    for part, size in (("decoder", config.decoder), ("encoder", config.encoder)):
        if size.codebook_size < talker.code_predictor.codebook_size:
            raise found.section(f"{part}_config").wrong(
                "codebook_size", f"at least {talker.code_predictor.codebook_size}, as the talker's"
            )
    return config


def _codec_encoder(codec: Fields, samples_per_frame: int) -> CodecEncoderConfig:
    found = codec.section("encoder_config")
    found.expect(
        audio_channels=1, hidden_act="gelu", attention_bias=False, pad_mode="constant",
        use_causal_conv=True, use_conv_shortcut=False, num_residual_layers=1,
    )  # fmt: skip
    strides = tuple(reversed(found.wholes("upsampling_ratios", 1, _MAX_KERNEL)))
    downsample, rest = divmod(samples_per_frame, math.prod(strides))
    if rest or downsample < 1:
        raise codec.wrong(
            "encode_downsample_rate", f"a multiple of the encoder's ratios, {math.prod(strides)}"
        )
    quantizer_size = found.whole("vector_quantization_hidden_dimension", 1, _MAX_SIZE)
    found.whole("codebook_dim", quantizer_size, quantizer_size)
    n_codebooks = found.whole("num_quantizers", 2, _MAX_CODEBOOKS)
    codec.whole("encoder_valid_num_quantizers", 1, n_codebooks)
    return CodecEncoderConfig(
        transformer=_transformer(found, "norm_eps"),
        n_filters=found.whole("num_filters", 1, 1024),
        kernel_size=found.whole("kernel_size", 1, _MAX_KERNEL),
        residual_kernel_size=found.whole("residual_kernel_size", 1, _MAX_KERNEL),
        last_kernel_size=found.whole("last_kernel_size", 1, _MAX_KERNEL),
        compress=found.whole("compress", 1, 64),
        strides=strides,
        downsample=downsample,
        codebook_size=found.whole("codebook_size", 2, _MAX_ENTRIES),
        quantizer_size=quantizer_size,
        n_codebooks=n_codebooks,
        n_semantic_codebooks=found.whole("num_semantic_quantizers", 1, n_codebooks - 1),
    )


def _codec_decoder(found: Fields, n_codebooks: int) -> CodecDecoderConfig:
    found.expect(hidden_act="silu", attention_bias=False)
    codebook_dim = found.whole("codebook_dim", 2, _MAX_SIZE)
    if codebook_dim % 2:
        raise found.wrong("codebook_dim", "an even number")
    return CodecDecoderConfig(
        transformer=_transformer(found),
        sliding_window=found.whole("sliding_window", 1, _MAX_ENTRIES),
        latent_size=found.whole("latent_dim", 1, _MAX_SIZE),
        decoder_size=found.whole("decoder_dim", 1, _MAX_SIZE),
        codebook_size=found.whole("codebook_size", 2, _MAX_ENTRIES),
        codebook_dim=codebook_dim,
        n_codebooks=found.whole("num_quantizers", n_codebooks, n_codebooks),
        n_semantic_codebooks=found.whole("num_semantic_quantizers", 1, n_codebooks - 1),
        upsampling_ratios=found.wholes("upsampling_ratios", 1, _MAX_KERNEL),
        upsample_rates=found.wholes("upsample_rates", 1, _MAX_KERNEL),
    )
