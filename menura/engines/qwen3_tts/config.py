"""What one Qwen3-TTS checkpoint is: every size, rate and id that its configuration files say.

`config_files.read_config` fills these from a folder; none of the values is repeated in the code.

Source: the published JSON files of Qwen/Qwen3-TTS-12Hz-{0.6B,1.7B}-{Base,CustomVoice,VoiceDesign}.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TransformerConfig:
    """The sizes of one stack of transformer blocks."""

    hidden_size: int
    intermediate_size: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    norm_eps: float
    rope_theta: float


@dataclass(frozen=True)
class CodePredictorConfig:
    """The model of a frame's codes after the first; its inputs have the talker's width."""

    transformer: TransformerConfig
    codebook_size: int
    n_codebooks: int


@dataclass(frozen=True)
class TalkerConfig:
    """The model over frames, with the ids of its codec vocabulary.

    `speaker_dialects` holds the dialect (a name of `language_ids`) of the speakers that have one.
    """

    transformer: TransformerConfig
    code_predictor: CodePredictorConfig
    text_hidden_size: int
    text_vocab_size: int
    codec_vocab_size: int
    n_codebooks: int
    pad_id: int
    bos_id: int
    eos_id: int
    think_id: int
    nothink_id: int
    think_bos_id: int
    think_eos_id: int
    language_ids: Mapping[str, int]
    speaker_ids: Mapping[str, int]
    speaker_dialects: Mapping[str, str]


@dataclass(frozen=True)
class SpeakerEncoderConfig:
    """The ECAPA-TDNN that makes the speaker embedding [embedding_size] of a recording."""

    sample_rate_hz: int
    n_mels: int
    embedding_size: int
    channels: tuple[int, ...]
    kernel_sizes: tuple[int, ...]
    dilations: tuple[int, ...]
    attention_channels: int
    res2net_scale: int
    squeeze_channels: int


@dataclass(frozen=True)
class CodecEncoderConfig:
    """Samples to codes. `strides` are in the order in which the encoder walks them.

    `quantizer_size` is the size of an entry of the codebooks.
    """

    transformer: TransformerConfig
    n_filters: int
    kernel_size: int
    residual_kernel_size: int
    last_kernel_size: int
    compress: int
    strides: tuple[int, ...]
    downsample: int
    codebook_size: int
    quantizer_size: int
    n_codebooks: int
    n_semantic_codebooks: int


@dataclass(frozen=True)
class CodecDecoderConfig:
    """Codes to samples. `codebook_dim` is the quantizer's output; its entries have half of it."""

    transformer: TransformerConfig
    sliding_window: int
    latent_size: int
    decoder_size: int
    codebook_size: int
    codebook_dim: int
    n_codebooks: int
    n_semantic_codebooks: int
    upsampling_ratios: tuple[int, ...]
    upsample_rates: tuple[int, ...]


@dataclass(frozen=True)
class CodecConfig:
    """The codec: the codebooks that are kept, and the rates of both directions."""

    encoder: CodecEncoderConfig
    decoder: CodecDecoderConfig
    n_codebooks: int
    input_rate_hz: int
    sample_rate_hz: int
    input_samples_per_frame: int
    samples_per_frame: int

    @property
    def frame_rate_hz(self) -> float:
        """Frames in a second of output."""
        return self.sample_rate_hz / self.samples_per_frame


@dataclass(frozen=True)
class GenerationDefaults:
    """The checkpoint's sampling values; the ones below stand where it says nothing."""

    do_sample: bool = True
    top_k: int = 50
    top_p: float = 1.0
    temperature: float = 0.9
    repetition_penalty: float = 1.05
    subtalker_dosample: bool = True
    subtalker_top_k: int = 50
    subtalker_top_p: float = 1.0
    subtalker_temperature: float = 0.9
    max_new_tokens: int = 2048


@dataclass(frozen=True)
class Qwen3TTSConfig:
    """One checkpoint. `claims_case_split`: its `transformers_version` asks for the newer split of
    text into words (see `tokenizer.py`).
    """

    variant: str
    size: str
    talker: TalkerConfig
    speaker_encoder: SpeakerEncoderConfig | None
    codec: CodecConfig
    generation: GenerationDefaults
    im_start_id: int
    im_end_id: int
    tts_bos_id: int
    tts_eos_id: int
    tts_pad_id: int
    claims_case_split: bool
