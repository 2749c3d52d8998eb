"""POST /v1/audio/plan: how a text would be spoken, without speaking it and without loading a model.

The body is that of /v1/audio/speech, and what is wrong with it is told as there. The plan is made
by the function that the model's process plans with, from what is known of the model.
"""

import asyncio
from dataclasses import replace

from fastapi import Request
from pydantic import BaseModel, Field

from menura import api, voices
from menura.planning import SpeechPlan
from menura.server.field_names import OF_SPEECH, field_of, named_as
from menura.server.models.facts_spec import spec_of
from menura.server.models.model_facts import ModelFacts
from menura.server.models.performance import Order
from menura.server.routes import TEXT_JSON, Route, Scope, ServerParts, notes_of, parts_of
from menura.server.speech import SpeechBody, asker_of, check_length, order_for
from menura.voice_library.labels import LIBRARY_PREFIX

_NOTE = "Estimated from the text; how long it really is shows when it is spoken."


class PlannedSegment(BaseModel):
    """One segment: its place in the input (code points), its expected length, the pause after."""

    text: str
    start: int
    end: int
    expected_s: float
    pause_s: float


class PlanAnswer(BaseModel):
    """How a text would be spoken. Seconds are those that would be heard, at the speed asked for."""

    segments: tuple[PlannedSegment, ...]
    expected_s: float
    seconds_note: str = _NOTE
    ignored: tuple[str, ...] = Field(description="Fields that would have no effect.")
    model: str
    voice: str | None
    language: str | None = Field(description="null: whatever the text is in.")


async def plan(request: Request, body: SpeechBody) -> PlanAnswer:
    """Tell how a text would be spoken: its segments, their expected lengths, what has no effect."""
    parts, notes = parts_of(request), notes_of(request)
    _ = body.wish  # an unknown format is told here, as it would be there
    check_length(body.input, parts.limits.max_characters, field_of("text", OF_SPEECH))
    with named_as(OF_SPEECH):
        order, without_effect = await order_for(parts, body, body.input, asker_of(request))
        facts = await parts.pool.describe(order.model)
        notes.model, notes.characters = order.model, len(body.input)
        planned = await asyncio.to_thread(plan_of, order, facts, parts)
    by_model = (field_of(name, OF_SPEECH) for name in planned.manner.ignored)
    return PlanAnswer(
        segments=tuple(
            PlannedSegment(
                text=segment.text,
                start=segment.start,
                end=segment.end,
                expected_s=round(segment.expected_s / planned.speed, 3),
                pause_s=round(segment.pause_s / planned.speed, 3),
            )
            for segment in planned.segments
        ),
        expected_s=round(planned.expected_s, 3),
        ignored=tuple(dict.fromkeys([*without_effect, *by_model])),
        model=order.model,
        voice=planned.manner.voice_label,
        language=planned.manner.language,
    )


def plan_of(order: Order, facts: ModelFacts, parts: ServerParts) -> SpeechPlan:
    """How an order would be spoken by the model that has these facts. Raises: as speaking it."""
    request = order.request
    if order.voice_file is not None:
        request = replace(request, voice=voices.load_voice(order.voice_file))
    elif order.voice_id is not None:
        request = replace(request, voice=f"{LIBRARY_PREFIX}{order.voice_id}")
    return api.preview(request, spec_of(facts), parts.chosen, library=parts.names.library)


ROUTES = (
    Route("/v1/audio/plan", ("POST",), Scope.SPEAK, TEXT_JSON, plan, "Tell how a text is spoken"),
)
