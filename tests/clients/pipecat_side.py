"""Pipecat's side: reads what to speak as JSON, and tells as JSON what a pipeline would play.

It runs in Pipecat's environment: its OpenAI service stands in a pipeline, as in a bot.
"""

import asyncio
import base64
import json
import sys
from typing import Any

import httpx2
import openai
from pipecat.frames.frames import (
    ErrorFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
)
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.tests.utils import run_test


async def spoken(asked: dict[str, Any]) -> dict[str, Any]:
    """The audio of these texts, or the errors that the pipeline gets."""
    seeds: list[str] = []

    async def note(answer: httpx2.Response) -> None:
        seeds.extend(answer.headers.get_list("x-seed"))

    more: dict[str, Any] = {}
    if asked.pop("note_seed", False):
        hooks = {"response": [note]}
        more["http_client"] = openai.DefaultAsyncHttpxClient(event_hooks=hooks)
    if "api_key" in asked:
        more["api_key"] = asked.pop("api_key")
    texts = asked.pop("texts")
    service = OpenAITTSService(settings=OpenAITTSService.Settings(**asked), **more)
    down, up = await run_test(
        service, frames_to_send=[TTSSpeakFrame(text) for text in texts], start_timeout=30.0
    )
    audio = [frame for frame in down if isinstance(frame, TTSAudioRawFrame)]
    return {
        "pcm": base64.b64encode(b"".join(frame.audio for frame in audio)).decode(),
        "rates": sorted({frame.sample_rate for frame in audio}),
        "started": sum(isinstance(frame, TTSStartedFrame) for frame in down),
        "stopped": sum(isinstance(frame, TTSStoppedFrame) for frame in down),
        "errors": [frame.error for frame in (*down, *up) if isinstance(frame, ErrorFrame)],
        "seeds": seeds,
    }


async def main() -> None:
    """Speak all that was asked for, one after the other."""
    answers = [await spoken(asked) for asked in json.load(sys.stdin)]
    sys.stdout.write("\n" + json.dumps(answers) + "\n")


asyncio.run(main())
