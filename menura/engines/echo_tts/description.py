"""What a checkpoint is and can do, from its configuration alone."""

from menura.audio.clip_checks import LONGEST_S
from menura.engines.contract import Capability, EngineSpec, ReferenceRules, TranscriptUse
from menura.engines.echo_tts.config import AutoencoderConfig, EchoConfig
from menura.engines.echo_tts.latents import PATCH_FRAMES
from menura.engines.echo_tts.options import EchoOptions
from menura.engines.echo_tts.prompt import LATENTS
from menura.engines.echo_tts.tokenizer import LONGEST_BYTES, MOST_ADDED_BYTES

ENGINE = "echo-tts"
MODEL = "echo-tts-base"
LICENCE = "CC-BY-NC-SA-4.0"
"""Of the weights, and of all audio that they make: the autoencoder's licence says so."""
MAX_ROWS = 4
GOOD_S = 5.0
_BEST_S = (10.0, 30.0)
_MAX_SEGMENT_S = 25.0
_TURN_TAG = r"\[S[12]\]"
# A row takes its time from the others, so the segment that is heard first goes first.
_SEGMENTS_AHEAD = 0


def spec_of(config: EchoConfig, fingerprint: str) -> EngineSpec:
    """The spec of a checkpoint of these sizes, whose voices have this fingerprint.

    A segment is at most 25 s of speech, so that it need not be rushed to fit the model's 30 s, and
    half of that where the window holds the segment before it as well.
    """
    return EngineSpec(
        engine=ENGINE,
        model=MODEL,
        variant="base",
        sample_rate_hz=config.autoencoder.sample_rate_hz,
        frame_rate_hz=config.autoencoder.frame_rate_hz,
        languages=("english",),
        voices=(),
        default_voice=None,
        options=EchoOptions,
        capabilities=frozenset({Capability.CLONE}),
        speaks_without_voice=True,
        max_segment_s=_MAX_SEGMENT_S,
        max_segment_bytes=LONGEST_BYTES - MOST_ADDED_BYTES,
        max_continued_s=_MAX_SEGMENT_S / 2,
        turn_tag=_TURN_TAG,
        max_rows=MAX_ROWS,
        segments_ahead=_SEGMENTS_AHEAD,
        fingerprint=fingerprint,
        reference=reference_rules(config.autoencoder),
        licence=LICENCE,
        output_licence=LICENCE,
    )


def reference_rules(config: AutoencoderConfig) -> ReferenceRules:
    """What a recording must be: one patch of latents at least; no transcript is read."""
    return ReferenceRules(
        transcript=TranscriptUse.UNUSED,
        shortest_s=PATCH_FRAMES * config.samples_per_frame / config.sample_rate_hz,
        good_s=(GOOD_S, LONGEST_S),
        best_s=_BEST_S,
        longest_s=LONGEST_S,
        way_with=LATENTS,
        way_without=LATENTS,
    )
