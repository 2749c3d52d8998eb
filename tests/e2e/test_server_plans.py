"""A plan says exactly what is spoken then: the same segments of the same text, on real models."""

import asyncio
import json
from pathlib import Path

import httpx
import numpy as np
import pytest

from menura import voices
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.speech import Reference, Voice
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import VoiceDefaults
from tests.kept_voices import new_voice
from tests.served_app import Served, served, tone_model
from tests.tone.engine import ToneEngine

PLAN, SPEECH = "/v1/audio/plan", "/v1/audio/speech"
LONG = "One two three. " * 25 + "\n\nA second part: it goes on, and on, and on. " * 6 + "End"


async def planned(client: httpx.AsyncClient, **body: object) -> dict[str, object]:
    answer = await client.post(PLAN, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


async def segments_spoken(client: httpx.AsyncClient, **body: object) -> list[dict[str, object]]:
    whole = {"response_format": "pcm", "stream_format": "sse", **body}
    answer = await client.post(SPEECH, json=whole)
    assert answer.status_code == 200, answer.text
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line]
    assert events[-1]["type"] == "speech.audio.done", events[-1]
    segments: list[dict[str, object]] = events[-1]["menura"]["segments"]
    return segments


def places(segments: object) -> list[tuple[object, ...]]:
    assert isinstance(segments, list)
    return [(each["text"], each["start"], each["end"]) for each in segments]


async def check_same(client: httpx.AsyncClient, n_least: int, **body: object) -> None:
    plan = await planned(client, **body)
    spoken = await segments_spoken(client, **body)
    assert places(plan["segments"]) == places(spoken)
    assert len(spoken) >= n_least
    text = str(body["input"])
    assert "".join(text[int(s["start"]) : int(s["end"])] for s in spoken) == text  # type: ignore[call-overload]


def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_HOME", str(folder / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub"))


def test_the_segments_are_those_that_are_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path, monkeypatch)

    async def ask(server: Served) -> None:
        async with server.client() as client:
            await check_same(client, 3, input=LONG)
            await check_same(client, 1, input=LONG, split=False)
            await check_same(client, 6, input=LONG, options={"continue_segments": True})
            await check_same(client, 3, input=LONG, language="zh", voice="high", speed=1.5)
            await check_same(client, 5, input=LONG * 2, model="builtin")

    async def run() -> None:
        async with served(tone_model(tmp_path)) as server:
            await ask(server)

    asyncio.run(run())


def test_the_segments_of_a_tiny_qwen_are_those_that_are_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path, monkeypatch)
    folder = write(tmp_path / "tiny", Tiny("custom_voice"))

    async def run() -> None:
        async with served(folder) as server, server.client() as client:
            few = {"max_new_tokens": 4}
            await check_same(client, 2, input=LONG[:420], options=few)
            await check_same(client, 2, input="你好，世界。" * 30, options=few, language="chinese")

    asyncio.run(run())


def test_a_plan_loads_no_model_and_counts_as_nobodys_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path, monkeypatch)

    async def run() -> None:
        async with served(tone_model(tmp_path)) as server, server.client() as client:
            plan = await planned(client, input=LONG, speed=2, user="me", instructions="softly")
            assert server.parts.pool.loaded() == []
            assert plan["ignored"] == ["user", "instructions"]
            assert (plan["model"], plan["voice"], plan["language"]) == ("tones", "low", None)
            segments = plan["segments"]
            assert isinstance(segments, list)
            total = sum(each["expected_s"] + each["pause_s"] for each in segments)
            assert plan["expected_s"] == pytest.approx(total, abs=0.05)
            slow = await planned(client, input=LONG, speed=1)
            assert slow["expected_s"] == pytest.approx(2 * total, abs=0.1)

    asyncio.run(run())


WRONG: list[tuple[dict[str, object], int, str | None]] = [
    ({"input": "..."}, 400, None),
    ({"input": "one", "voice": "nobody"}, 400, "voice"),
    ({"input": "one", "model": "nothing"}, 404, "model"),
    ({"input": "one", "language": "klingon"}, 400, "language"),
    ({"input": "one", "options": {"loudness": 7}}, 400, "options.loudness"),
    ({"input": "one", "options": {"nothing": 7}}, 400, "options.nothing"),
    ({"input": "one", "response_format": "ogg3"}, 400, "response_format"),
    ({"input": "x" * 5000}, 400, "input"),
]


def test_what_is_wrong_is_told_as_speaking_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path, monkeypatch)

    async def run() -> None:
        async with served(tone_model(tmp_path, "tone")) as server, server.client() as client:
            for body, status, param in WRONG:
                told = [await client.post(path, json=body) for path in (PLAN, SPEECH)]
                assert [answer.status_code for answer in told] == [status, status], body
                first, second = (answer.json()["error"] for answer in told)
                assert first == second
                assert param is None or first["param"] == param

    asyncio.run(run())


def test_a_saved_voice_is_planned_as_it_is_spoken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path, monkeypatch)
    clip = Reference(np.full(800, 0.25, np.float32), 8_000)
    file = tmp_path / "me.safetensors"
    voices.save(Voice("me", ToneEngine().encode_voice(clip, "auto")), file)

    async def run() -> None:
        with_voice = served(tone_model(tmp_path), voices=f"me={file}")
        async with with_voice as server, server.client() as client:
            assert (await planned(client, input="one two", voice="me"))["voice"] == "me"
            await check_same(client, 3, input=LONG, voice="me")

    asyncio.run(run())


def test_a_voice_of_the_library_is_planned_with_its_defaults_and_spoken_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(tmp_path, monkeypatch)
    defaults = VoiceDefaults(options={"continue_segments": True, "frames_per_word": 1})
    kept = VoiceLibrary().add(new_voice("Anna", defaults=defaults))

    async def run() -> None:
        async with served(tone_model(tmp_path)) as server, server.client() as client:
            for name in ("anna", kept.id, f"lib:{kept.id}"):
                assert (await planned(client, input="one two", voice=name))["voice"] == "Anna"
            await check_same(client, 6, input=LONG, voice="Anna")

    asyncio.run(run())
