"""A loaded model's way into the one loop: plans become jobs, jobs run as rows of its decoder."""

from collections.abc import Generator, Mapping
from functools import partial
from threading import RLock
from types import MappingProxyType

from menura.engines.contract import Delivery, Engine, NoiseSource, Prompt
from menura.planning import SpeechPlan
from menura.runtime.scheduler import Delivered, Job, Jobs, run
from menura.runtime.worker import TurnTaking
from menura.takes import Take


class ModelLoop:
    """One model's loop; who holds `lock` has the engine to himself.

    `unheeded`: the settings that the model cannot heed, with the reasons.
    """

    def __init__(self, engine: Engine, unheeded: Mapping[str, str] = MappingProxyType({})) -> None:
        self.lock = RLock()
        self._engine = engine
        self._unheeded = dict(unheeded)

    @property
    def applied(self) -> dict[str, object]:
        """How the model runs, for every speech the same: device, precision, threads, fallbacks."""
        unheeded = {"settings_not_heeded": self._unheeded} if self._unheeded else {}
        return {**self._engine.applied, **unheeded}

    def jobs_of(self, planned: SpeechPlan, take: Take, delivery: Delivery) -> list[Job]:
        """The loop's jobs for a plan: one for each segment, or one whose words come later."""
        texts: list[str | None] = [segment.text for segment in planned.segments]
        take.applied.update(self.applied)
        return [
            Job(
                segment=index,
                build=partial(self._build_prompt, text, planned, take),
                noise=partial(self._noise, planned, index),
                delivery=delivery,
                retries=getattr(planned.manner.options, "retries", 0),
            )
            for index, text in enumerate(texts or [None])
        ]

    def run(self, jobs: Jobs, n_jobs: int) -> Generator[Delivered, None, None]:
        """The one loop over a decoder of this model with as many rows as pay for so many jobs."""
        with self.lock:
            decoder = self._engine.decoder(max(1, min(n_jobs, self._engine.spec.max_rows)))
        return run(TurnTaking(decoder, self.lock), jobs)

    def _noise(self, planned: SpeechPlan, segment: int, attempt: int) -> NoiseSource:
        return self._engine.noise(planned.seed_of(segment, attempt))

    def _build_prompt(self, text: str | None, planned: SpeechPlan, take: Take) -> Prompt:
        prompt = self._engine.build_prompt(text, planned.manner_after(take.before))
        take.prepare(prompt)
        return prompt
