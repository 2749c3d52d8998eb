"""LiveKit's side: reads what to speak as JSON, and tells as JSON what an agent would play.

It runs in LiveKit's environment. All is as an agent does it, with the plugin's own client, but for
`note_seed`, where a client that notes the answers' X-Seed is given to it.
"""

import asyncio
import base64
import json
import sys
from typing import Any

import httpx2
import openai
from livekit.agents import APIConnectOptions, APIError, tokenize, tts
from livekit.plugins.openai import TTS


async def spoken(asked: dict[str, Any]) -> dict[str, Any]:
    """The audio of one text, or the error that the agent gets."""
    seeds: list[str] = []

    async def note(answer: httpx2.Response) -> None:
        seeds.extend(answer.headers.get_list("x-seed"))

    own = {}
    if asked.pop("note_seed", False):
        hooks = {"response": [note]}
        http_client = openai.DefaultAsyncHttpxClient(event_hooks=hooks)
        own["client"] = openai.AsyncClient(max_retries=0, http_client=http_client)
    text, in_sentences = asked.pop("text"), asked.pop("in_sentences", False)
    plugin = TTS(**asked, **own)
    errors: list[bool] = []
    plugin.on("error", lambda error: errors.append(error.recoverable))
    plugin.prewarm()
    try:
        if in_sentences:
            told = await _in_sentences(plugin, text)
        else:
            told = await _at_once(plugin, text)
    except APIError as error:
        told = {"error": type(error).__name__, "status": getattr(error, "status_code", None)}
    await plugin.aclose()
    return {**told, "seeds": seeds, "errors": errors}


async def _at_once(plugin: TTS, text: str) -> dict[str, Any]:
    options = APIConnectOptions(max_retry=3, retry_interval=0.1)
    async with plugin.synthesize(text, conn_options=options) as stream:
        return _told([event async for event in stream])


async def _in_sentences(plugin: TTS, text: str) -> dict[str, Any]:
    """As a voice agent does with a model's words: the text is cut, and each piece is a request."""
    cut = tts.StreamAdapter(tts=plugin, sentence_tokenizer=tokenize.basic.SentenceTokenizer())
    async with cut.stream() as stream:
        for word in text.split(" "):
            stream.push_text(f"{word} ")
        stream.end_input()
        return _told([event async for event in stream])


def _told(events: list[tts.SynthesizedAudio]) -> dict[str, Any]:
    pcm = b"".join(bytes(event.frame.data) for event in events)
    return {
        "pcm": base64.b64encode(pcm).decode(),
        "rates": sorted({event.frame.sample_rate for event in events}),
        "request_ids": sorted({event.request_id for event in events}),
        "final": events[-1].is_final,
    }


async def main() -> None:
    """Speak all that was asked for, one after the other."""
    answers = [await spoken(asked) for asked in json.load(sys.stdin)]
    sys.stdout.write("\n" + json.dumps(answers) + "\n")


asyncio.run(main())
