"""What is said about a recording: each check is a function from the figures to its findings.

A refusal means that no voice comes of it. A warning is rare on a good recording: the thresholds
were tried on synthetic and human speech (docs/LOG.md). All else is a note.
"""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from menura.audio.clip_checks import GOOD_S
from menura.audio.findings import Finding, Severity
from menura.audio.levels import BLOCK_S, BoolArray, Span, ends_in_sound, runs
from menura.audio.recording_refusals import (
    BEST,
    BEST_LENGTH,
    SHORTEST_S,
    cancelled,
    sound_s,
    too_little_sound,
)

KEPT_SILENCE_S = 0.2  # at the ends: more is trimmed

_LEAST_SPEECH_S = 1.0
_LEAST_SPEECH = 0.4  # of what is heard
_NOISY_DB = 15.0  # of speech over noise
_QUIET_LUFS = -40.0
_NARROW_HZ = 4500.0  # a telephone
_LONG_SILENCE_S = 1.5
_CLIPPED_OFTEN = 3  # places
_CLIPPED_S = 0.3  # in one place
_TOLD_SILENCE_S = 0.5  # at the ends: less is trimmed without a word
_CANCELLED_DB = 20.0  # channels that have nothing in common lose 6


@dataclass(frozen=True, eq=False)
class Measured:
    """The figures of a recording that the checks look at.

    Of each block [m] of 20 ms: whether something is heard in it, and whether that is speech.
    """

    heard: BoolArray
    speech: BoolArray
    clipped: tuple[Span, ...]
    second_speaker: tuple[Span, ...]
    lufs: float
    snr_db: float
    bandwidth_hz: float
    mixing_loss_db: float = 0.0  # of the loudest sample, where several channels were mixed

    @property
    def silence_start_s(self) -> float:
        """How long it is silent before the first sound."""
        return round(int(np.argmax(self.heard)) * BLOCK_S, 3)

    @property
    def silence_end_s(self) -> float:
        """How long it is silent after the last sound."""
        return round(int(np.argmax(self.heard[::-1])) * BLOCK_S, 3)

    @property
    def end_s(self) -> float:
        """Where its last block ends."""
        return len(self.heard) * BLOCK_S

    @property
    def sound_s(self) -> float:
        """From the first sound to the last: how long it is when it is trimmed."""
        return sound_s(self.heard)


def found(measured: Measured) -> tuple[Finding, ...]:
    """Everything that is to be said about a recording that could be measured."""
    checks = (_channels, _length, _speech, _level, _clipping, _ends, _pauses, _speakers)
    return tuple(chain.from_iterable(check(measured) for check in checks))


def _channels(measured: Measured) -> list[Finding]:
    if measured.mixing_loss_db < _CANCELLED_DB:
        return []
    return [cancelled(Severity.WARN, "so little is left of the voice when they are mixed to one.")]


def _length(measured: Measured) -> list[Finding]:
    seconds = measured.sound_s
    if fault := too_little_sound(seconds):
        return [fault]
    if seconds < GOOD_S[0]:
        says = f"The recording has only {seconds:.1f} s of sound, which carries little of a voice."
        return [Finding("too_short", Severity.WARN, says, f"Record more: {BEST}.")]
    if seconds > GOOD_S[1]:
        says = (
            f"The recording has {seconds:.0f} s of sound. With clips over {GOOD_S[1]:.0f} s some "
            "models break words off, and every sentence takes longer to begin."
        )
        do = f"Cut it to {BEST_LENGTH}, at a pause, and its transcript with it."
        return [Finding("long", Severity.WARN, says, do)]
    return []


def _speech(measured: Measured) -> list[Finding]:
    speech_s = float(measured.speech.sum()) * BLOCK_S
    heard_s = float(measured.heard.sum()) * BLOCK_S
    if speech_s >= max(_LEAST_SPEECH_S, _LEAST_SPEECH * heard_s) or measured.sound_s < SHORTEST_S:
        return []
    return [
        Finding(
            "little_speech",
            Severity.WARN,
            f"Only {speech_s:.1f} s of it sound like somebody speaking (a whisper does not count).",
            f"Take a part where one person speaks and nothing else is heard: {BEST}.",
        )
    ]


def _level(measured: Measured) -> list[Finding]:
    findings = []
    if measured.snr_db < _NOISY_DB:
        findings.append(
            Finding(
                "noisy",
                Severity.WARN,
                f"The speech is only {max(0.0, measured.snr_db):.0f} dB louder than what is heard "
                f"between the words (good: over {_NOISY_DB:.0f}). A model copies noise, music and "
                "echo with the voice.",
                "Record in a quiet room with soft furniture, close to the microphone.",
            )
        )
    if measured.lufs < _QUIET_LUFS:
        findings.append(
            Finding(
                "quiet",
                Severity.WARN,
                f"The recording is very quiet ({measured.lufs:.0f} LUFS; speech is usually at "
                "-16 to -30). Some models then speak just as quietly.",
                "Turn the microphone up or come closer. Making the file louder helps too.",
            )
        )
    if measured.bandwidth_hz < _NARROW_HZ:
        findings.append(
            Finding(
                "narrow_band",
                Severity.WARN,
                f"It holds nothing above {measured.bandwidth_hz / 1000:.1f} kHz, like a telephone "
                "call, so the voice will sound dull.",
                "Take the original recording, or one that was not made over a telephone.",
            )
        )
    return findings


def _clipping(measured: Measured) -> list[Finding]:
    if not measured.clipped:
        return []
    n_places = len(measured.clipped)
    clipped_s = sum(end - start for start, end in measured.clipped)
    often = n_places >= _CLIPPED_OFTEN or clipped_s > _CLIPPED_S
    return [
        Finding(
            "clipped",
            Severity.WARN if often else Severity.NOTE,
            f"Its peaks are cut off in {n_places} {'places' if n_places > 1 else 'place'}: it was "
            "recorded too loud" + (", and the voice will rattle." if often else "."),
            "Turn the microphone down and record it again. Making the file quieter does not help.",
            measured.clipped,
        )
    ]


def _ends(measured: Measured) -> list[Finding]:
    findings = []
    first, after = measured.silence_start_s, round(measured.end_s - measured.silence_end_s, 3)
    if ends_in_sound(measured.heard):
        findings.append(
            Finding(
                "ends_in_sound",
                Severity.WARN,
                "It ends in the middle of a sound. A model goes on from there, so a rest of the "
                "word may be heard at the start of what it speaks.",
                "End it at a pause, with the transcript ending at the same word.",
                ((round(max(0.0, measured.end_s - 0.3), 3), measured.end_s),),
            )
        )
    if ends_in_sound(measured.heard[::-1]):
        findings.append(
            Finding(
                "starts_in_sound",
                Severity.NOTE,
                "It starts with a sound at once, perhaps in the middle of a word.",
                "If a word is cut there, begin at the next one, in the transcript too.",
                ((0.0, min(0.3, measured.end_s)),),
            )
        )
    silent = {"start": (0.0, first), "end": (after, round(measured.end_s, 3))}
    told = {at: (a, b) for at, (a, b) in silent.items() if b - a > _TOLD_SILENCE_S}
    if told:
        where = " and ".join(f"{b - a:.1f} s at the {at}" for at, (a, b) in told.items())
        findings.append(
            Finding(
                "silence_at_ends",
                Severity.NOTE,
                f"It is silent for {where}; {KEPT_SILENCE_S:g} s of that stay where it is trimmed.",
                "There is nothing to do.",
                tuple(told.values()),
            )
        )
    return findings


def _pauses(measured: Measured) -> list[Finding]:
    pauses = [
        (round(first * BLOCK_S, 3), round(after * BLOCK_S, 3))
        for first, after in runs(~measured.heard)
        if first > 0 and after < len(measured.heard)
    ]
    long = tuple(span for span in pauses if span[1] - span[0] > _LONG_SILENCE_S)
    if not long:
        return []
    longest_s = max(end - start for start, end in long)
    return [
        Finding(
            "long_silence",
            Severity.NOTE,
            f"It has {'a pause' if len(long) == 1 else f'{len(long)} pauses'} of up to "
            f"{longest_s:.1f} s. A model may copy such pauses.",
            "Cut the pauses to half a second, or take a part without them.",
            long,
        )
    ]


def _speakers(measured: Measured) -> list[Finding]:
    if not measured.second_speaker:
        return []
    return [
        Finding(
            "several_speakers",
            Severity.WARN,
            "The sound of the voice changes in the marked places, as when a second person speaks. "
            "A model would mix them.",
            "Keep only the parts of one person. If it is one person, go on.",
            measured.second_speaker,
        )
    ]
