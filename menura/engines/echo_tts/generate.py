"""The sampler: rows of latents on their way from noise to speech, one Euler step at a time.

A row goes through its blocks (or its one window), and through a block in the steps of a schedule.
`advance` moves every row by one step in a single pass of the model. The rows need not be at the
same time, so one may join while others are on their way.

Source: Liu et al., "Flow Straight and Fast", 2023 (rectified flow); Echo-TTS (Darefsky), 2025.
Legend: T latents of a block, C channels of a latent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from menura.engines.contract import NoiseSource
from menura.engines.echo_tts.blockwise import Canvas, check_canvas
from menura.engines.echo_tts.dit import EchoDiT, Keys, Lane, StepModulation
from menura.engines.echo_tts.guidance import Guidance, Rescale, View, guided, rescaled
from menura.engines.echo_tts.schedule import Schedule, Schedules
from menura.engines.echo_tts.speaker_scale import SpeakerContext, SpeakerScale
from menura.errors import NumericsError
from menura.runtime.torch_noise import LATENTS
from menura.speech import FloatArray


@dataclass(frozen=True)
class SamplerSettings:
    """How a row is sampled. Without `block_sizes` it is one window of `n_frames` latents.

    `block_steps` are the steps of each block, where they differ from `n_steps`.
    """

    n_steps: int
    guidance: Guidance
    truncation_factor: float | None
    rescale: Rescale | None
    speaker_scale: SpeakerScale | None
    n_frames: int
    block_sizes: tuple[int, ...] | None = None
    block_steps: tuple[int, ...] | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The latents of each block; a window is one block."""
        return self.block_sizes or (self.n_frames,)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of each block."""
        return self.block_steps or (self.n_steps,) * len(self.sizes)


@dataclass(frozen=True)
class Conditions:
    """What a row says, in whose voice, and the latents float32 [T, C] that it goes on from."""

    text: Keys
    speaker: Keys | None = None
    continuation: Tensor | None = None


@dataclass
class _Block:
    """One block on its way: its latents [T, C] and the step that comes next.

    `earlier` are the keys of the latents before it.
    """

    latents: Tensor
    schedule: Schedule
    start: int
    earlier: Keys | None
    step: int = 0

    @property
    def times(self) -> tuple[Tensor, Tensor]:
        """When the next step begins and ends: two of the schedule's times [n + 1]."""
        return self.schedule.times[self.step], self.schedule.times[self.step + 1]

    @property
    def modulation(self) -> StepModulation:
        """What the norms do in the next step."""
        return self.schedule.modulations[self.step]

    @property
    def is_sampled(self) -> bool:
        """Whether no step is left."""
        return self.step == self.schedule.n_steps


class SamplerRow:
    """One utterance on its way; `advance` moves it.

    `error` is set when its latents stopped being numbers; the row is over then.
    """

    def __init__(
        self,
        dit: EchoDiT,
        settings: SamplerSettings,
        conditions: Conditions,
        noise: NoiseSource,
        schedules: Schedules,
    ) -> None:
        """Raises: InvalidValueError: the blocks and the continuation do not fill whole patches."""
        continuation = conditions.continuation
        if settings.block_sizes is not None or continuation is not None:
            n_before = 0 if continuation is None else continuation.shape[0]
            check_canvas(settings.sizes, n_before, dit.config.patch_size)
        self.error: NumericsError | None = None
        self.n_steps_done = 0
        self.n_steps_total = sum(settings.steps)
        self._dit = dit
        self._settings = settings
        self._text = conditions.text
        self._speaker = SpeakerContext(conditions.speaker, settings.speaker_scale)
        self._strengths = settings.guidance.strengths(has_speaker=conditions.speaker is not None)
        self._noise = noise
        self._canvas = Canvas(settings.sizes, dit.config.latent_size, continuation)
        self._n_given = self._canvas.start
        self._to_come = [
            (size, schedules.get(n_steps))
            for size, n_steps in zip(settings.sizes, settings.steps, strict=True)
        ]
        self._block = self._next_block()

    @property
    def is_done(self) -> bool:
        """Whether no step is left: all blocks are sampled, or the row failed."""
        return self._block.is_sampled or self.error is not None

    @property
    def latents(self) -> Tensor:
        """The latents float32 [T, C] of the block that is on its way."""
        return self._block.latents

    def new_frames(self) -> FloatArray | None:
        """The latents float32 [T, C] of the blocks finished since the last call, if there are."""
        first, self._n_given = self._n_given, self._canvas.start
        if first == self._n_given:
            return None
        return self._canvas.latents[first : self._n_given].numpy()

    def lanes(self) -> list[Lane]:
        """What the next step asks of the model: the view of everything, then the others."""
        block = self._block
        return [
            Lane(block.latents, self._contexts(view), block.modulation, block.start)
            for view in (View.BOTH, *self._compared())
        ]

    def move(self, velocities: Sequence[Tensor]) -> None:
        """Take the next step, with the velocity [T, C] of each of its lanes."""
        block = self._block
        t, t_next = block.times
        velocity = guided(velocities[0], velocities[1:], tuple(self._compared().values()))
        if self._settings.rescale is not None:
            velocity = rescaled(velocity, block.latents, t, self._settings.rescale)
        self._speaker.leave(t, t_next)
        block.latents = block.latents + velocity * (t_next - t)
        block.step += 1
        self.n_steps_done += 1

    def settle(self, *, is_sound: bool) -> None:
        """End the row if its latents are no numbers; close its block if no step of it is left."""
        if not is_sound:
            self.error = _not_numbers(self.n_steps_done, self.n_steps_total)
        elif self._block.is_sampled:
            self._canvas.write(self._block.latents.cpu())
            if self._to_come:
                self._block = self._next_block()

    def _next_block(self) -> _Block:
        size, schedule = self._to_come.pop(0)
        self._speaker.enter_block()
        noise = torch.as_tensor(self._noise.draw(LATENTS, (1, size, self._dit.config.latent_size)))
        latents = noise[0].to(self._dit.device)
        if self._settings.truncation_factor is not None:
            latents = latents * self._settings.truncation_factor
        visible = self._canvas.visible(self._dit.config.patch_size)
        earlier = self._dit.latent_keys(visible) if len(visible) else None
        return _Block(latents, schedule, self._canvas.start, earlier)

    def _compared(self) -> dict[View, float]:
        """The views beside `BOTH` that the next step needs, and their strengths."""
        is_guided = self._settings.guidance.is_on(self._block.times[0])
        return self._strengths if is_guided else {}

    def _contexts(self, view: View) -> tuple[Keys, ...]:
        """What a lane sees beside its own positions, in the order of training."""
        text = self._text if view.has_text else None
        speaker = self._speaker.keys if view.has_speaker else None
        return tuple(keys for keys in (self._block.earlier, text, speaker) if keys is not None)


@torch.inference_mode()
def advance(dit: EchoDiT, rows: Sequence[SamplerRow]) -> None:
    """Move every row by one Euler step, all of them in one pass of the model.

    A row whose latents stop being numbers gets its `error`; the others go on. Nothing is read from
    the device but which rows are sound, once, and the latents of finished blocks.
    """
    lanes = [row.lanes() for row in rows]
    velocities = iter(dit.velocities([lane for row_lanes in lanes for lane in row_lanes]))
    for row, row_lanes in zip(rows, lanes, strict=True):
        row.move([next(velocities) for _ in row_lanes])
    are_sound = torch.stack([row.latents.isfinite().all() for row in rows]).tolist()
    for row, is_sound in zip(rows, are_sound, strict=True):
        row.settle(is_sound=is_sound)


def _not_numbers(step: int, n_steps: int) -> NumericsError:
    return NumericsError(
        f"the latents after step {step} of {n_steps} are not numbers (NaN or infinity), so this "
        "utterance ended; check the model's files, lower the guidance, or load the model with "
        "precision='exact'"
    )
