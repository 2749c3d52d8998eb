"""POST /v1/audio/speech and its kin, through the real application to a model's own process."""

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from menura.audio.pcm import FloatArray
from tests.live_server import on_socket
from tests.served_app import Running, Served, running
from tests.tone.engine import FRAME, RATE_HZ, heard_hz, tone_hz
from tests.unit.audio.reference_decoders import by_av, by_soundfile

SPEECH = "/v1/audio/speech"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all tests of this file, with the keys of several users' worth of requests."""
    with running(tmp_path_factory.mktemp("speech"), per_key=64) as found:
        yield found


async def spoken(client: httpx.AsyncClient, **body: object) -> httpx.Response:
    answer = await client.post(SPEECH, json={"response_format": "wav", **body})
    assert answer.status_code == 200, answer.text
    return answer


def samples_of(answer: httpx.Response) -> FloatArray:
    return by_soundfile(answer.content).samples


def tones_of(text: str) -> list[int]:
    """The tones of a text's words, of two frames each."""
    return [tone_hz(word) for word in text.split() for _ in range(2)]


def test_a_text_is_spoken_in_its_own_words(server: Running) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            answer = await spoken(client, input="one two three", voice="alloy", model="tts-1")
            assert heard_hz(samples_of(answer)) == tones_of("one two three")
            assert answer.headers["content-type"] == "audio/wav"
            assert answer.headers["x-model"] == "tones"
            assert answer.headers["x-voice"] == "low"
            assert answer.headers["x-sample-rate"] == "8000"
            assert answer.headers["x-request-id"]
            assert "x-menura-ignored" not in answer.headers
            again = await spoken(client, input="one two three", seed=int(answer.headers["x-seed"]))
            assert again.content == answer.content

    server.ask(ask)


def test_mp3_is_what_is_given_where_no_format_is_asked_for(server: Running) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            answer = await client.post(SPEECH, json={"input": "one two three", "voice": "low"})
            assert answer.headers["content-type"] == "audio/mpeg"
            assert answer.content.startswith(b"ID3")

    server.ask(ask)


def test_what_has_no_effect_is_named(server: Running) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            body = {"input": "one two", "instructions": "sadly", "user": "x", "é": 1}
            answer = await spoken(client, **body)
            assert answer.headers["x-menura-ignored"] == "user, %C3%A9, instructions"
            answer = await spoken(client, input="one two", strict=False, options={"nothing": 1})
            assert answer.headers["x-menura-ignored"] == "options.nothing"

    server.ask(ask)


def test_the_pace_is_kept_by_every_model(server: Running) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            once = samples_of(await spoken(client, input="one two three four"))
            twice = samples_of(await spoken(client, input="one two three four", speed=2))
            assert len(twice) == pytest.approx(len(once) / 2, rel=0.1)

    server.ask(ask)


def test_events_end_with_what_came_of_it(server: Running) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            body = {"input": "one two", "stream_format": "sse", "response_format": "pcm"}
            answer = await client.post(SPEECH, json=body)
        assert answer.headers["content-type"] == "text/event-stream"
        lines = [line for line in answer.text.split("\n") if line]
        events = [json.loads(line.removeprefix("data: ")) for line in lines]
        audio = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
        assert len(audio) == 2 * 24_000 * 4 * FRAME // RATE_HZ
        done = events[-1]
        assert done["usage"] == {"input_tokens": 7, "output_tokens": 40, "total_tokens": 47}
        assert done["menura"]["finish"] == "stop"
        assert done["menura"]["applied"]["tones"] is True
        assert [(s["start"], s["end"]) for s in done["menura"]["segments"]] == [(0, 7)]

    server.ask(ask)


@pytest.mark.parametrize(
    ("body", "status", "param", "code"),
    [
        ({"input": "one", "voice": "nobody"}, 400, "voice", "invalid_value"),
        ({"input": "one", "model": "nothing"}, 404, "model", "model_not_found"),
        ({"input": "one", "response_format": "ogg"}, 400, "response_format", "invalid_value"),
        ({"input": "  \n"}, 400, "input", "nothing_to_speak"),
        ({"input": ""}, 400, "input", "nothing_to_speak"),
        ({"input": "x" * 4_097}, 400, "input", "invalid_value"),
        ({"input": "one", "options": {"nothing": 1}}, 400, "options.nothing", "invalid_value"),
        ({"input": "one", "options": {"loudness": 2}}, 400, "options.loudness", "invalid_value"),
        ({"input": "one", "language": "german"}, 400, "language", "unsupported"),
        ({"input": "one", "strict": True, "instructions": "x"}, 400, "instructions", "unsupported"),
        ({"input": "REFUSED"}, 400, "input", "unsupported"),
        ({"input": "FAIL"}, 500, None, "failure"),
        ({"input": "NAN"}, 500, None, "numerics"),
        ({"input": "SILENT"}, 500, None, "no_audio"),
    ],
)
def test_a_speech_that_cannot_begin_is_an_error_of_its_own_kind(
    server: Running, body: dict[str, object], status: int, param: str | None, code: str
) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            for form in ("audio", "sse"):
                answer = await client.post(SPEECH, json={**body, "stream_format": form})
                error = answer.json()["error"]
                assert (answer.status_code, error["code"]) == (status, code), error
                assert error["param"] == param
                assert answer.headers["x-should-retry"] == "false"
            await spoken(client, input="one")

    server.ask(ask)


@pytest.mark.parametrize("word", ["FAIL", "NAN"])
@pytest.mark.parametrize("name", ["wav", "mp3", "opus", "aac", "flac", "pcm"])
def test_a_speech_that_fails_in_the_middle_has_no_end(
    server: Running, name: str, word: str
) -> None:
    async def ask(served: Served) -> None:
        options = {"chunk_frames": 1, "frames_per_word": 20}
        body = {"input": f"one {word}", "response_format": name, "options": options}
        wire, task = served.begin(SPEECH, body)
        await task
        assert wire.status == 200
        assert wire.body
        assert not wire.is_complete
        wire, task = served.begin(SPEECH, {**body, "stream_format": "sse"})
        await task
        assert wire.events[-1]["type"] == "error"
        assert not wire.is_complete
        wire, task = served.begin(SPEECH, {**body, "stream": False})
        await task
        assert wire.status == 500
        assert wire.is_complete

    server.ask(ask)


def test_a_process_that_dies_cuts_its_answers_and_the_next_is_spoken(tmp_path: Path) -> None:
    async def ask(served: Served) -> None:
        options = {"chunk_frames": 1, "frames_per_word": 20}
        body = {"input": "one CRASH", "response_format": "mp3", "options": options}
        wire, task = served.begin(SPEECH, body)
        await task
        assert wire.status == 200
        assert wire.body
        assert not wire.is_complete
        async with served.client() as client:
            await spoken(client, input="one")

    with running(tmp_path) as server:
        server.ask(ask)


@pytest.mark.parametrize("n_pieces", [0, 1, 5])
def test_a_client_that_leaves_frees_its_row(server: Running, n_pieces: int) -> None:
    async def ask(served: Served) -> None:
        for form in ("audio", "sse") * 5:  # more than the rows that there are
            body = {"input": "ENDLESS", "response_format": "wav", "stream_format": form}
            wire, task = served.begin(SPEECH, {**body, "options": {"chunk_frames": 1}})
            await wire.until(lambda wire: len(wire.pieces) >= n_pieces) if n_pieces else None
            wire.hang_up()
            await task
            assert not wire.is_complete
        async with served.client() as client:
            await spoken(client, input="one")

    server.ask(ask)


def test_a_slow_reader_does_not_hold_up_the_others(server: Running) -> None:
    async def ask(served: Served) -> None:
        wire, task = served.begin(SPEECH, {"input": "ENDLESS", "response_format": "wav"})
        await wire.until(lambda wire: len(wire.pieces) >= 1)
        wire.reads.clear()
        async with served.client() as client:
            for _ in range(5):
                answer = await spoken(client, input="one two")
                assert heard_hz(samples_of(answer)) == tones_of("one two")
        n_taken = len(wire.body)
        wire.hang_up()
        await task
        assert len(wire.body) == n_taken

    server.ask(ask)


def test_many_at_once_each_hear_their_own_words(server: Running) -> None:
    async def one(client: httpx.AsyncClient, index: int, name: str) -> None:
        text = f"mine{index} yours{index} ours{index}"
        answer = await client.post(SPEECH, json={"input": text, "response_format": name})
        assert answer.status_code == 200, answer.text
        decoded = by_av(answer.content)
        n_frame = FRAME * decoded.rate_hz // RATE_HZ
        heard = [
            int(np.abs(np.fft.rfft(frame)).argmax()) * 10
            for frame in decoded.samples[: 6 * n_frame].reshape(6, n_frame)
        ]
        assert heard == tones_of(text)

    async def ask(served: Served) -> None:
        async with served.client() as client:
            kinds = [("wav", "flac", "opus")[index % 3] for index in range(30)]
            await asyncio.gather(*(one(client, i, name) for i, name in enumerate(kinds)))

    server.ask(ask)


@pytest.mark.parametrize("path", ["/v1/text-to-speech/high", "/v1/text-to-speech/high/stream"])
def test_elevenlabs_clients_speak_too(server: Running, path: str) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            body = {
                "text": "one two",
                "model_id": "eleven_flash_v2",
                "voice_settings": {"style": 0},
            }
            headers = {"authorization": "", "xi-api-key": served.key}
            answer = await client.post(path, json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            assert answer.headers["content-type"] == "audio/mpeg"
            assert answer.headers["x-voice"] == "high"
            assert answer.headers["x-menura-ignored"] == "voice_settings.style"
            assert ("content-length" in answer.headers) is not path.endswith("stream")
            raw = await client.post(path, json=body, params={"output_format": "pcm_16000"})
            assert raw.headers["x-sample-rate"] == "16000"
            assert "output_format" not in raw.headers["x-menura-ignored"]
            mp3 = await client.post(path, json=body, params={"output_format": "mp3_44100_128"})
            assert "output_format" in mp3.headers["x-menura-ignored"]
            assert len(raw.content) == 2 * 16_000 * 4 * FRAME // RATE_HZ
            wrong = await client.post(path, json=body, params={"output_format": "ulaw_8000"})
            assert wrong.status_code == 400
            assert wrong.json()["error"]["param"] == "output_format"
            lost = await client.post("/v1/text-to-speech/nobody", json=body)
            assert lost.status_code == 400
            assert lost.json()["error"]["param"] == "voice_id"

    server.ask(ask)


@pytest.mark.parametrize("is_open", [False, True])
def test_the_lists_that_clients_read(tmp_path: Path, is_open: bool) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            for path in ("/v1/audio/voices", "/v1/voices"):
                found = (await client.get(path)).json()
                assert found["voices"] == found["data"]
                first = found["voices"][0]
                assert (first["id"], first["voice_id"], first["name"]) == ("low", "low", "low")
                assert first["language"] == "en"
                assert "builtin:heart" in {voice["id"] for voice in found["voices"]}
            for path in ("/v1/models", "/v1/audio/models"):
                found = (await client.get(path)).json()
                assert [model["id"] for model in found["data"]][:2] == ["tones", "builtin"]
                assert found["models"] == found["data"]
            assert (await client.get("/v1/models/tts-1")).json()["id"] == "tones"
            client.headers["authorization"] = ""
            for path in ("/v1/audio/voices", "/v1/voices", "/v1/models"):
                assert (await client.get(path)).status_code == (200 if is_open else 401)
            assert (await client.get("/v1/audio/models")).status_code == 401

    with running(tmp_path, open_voice_list=is_open) as server:
        server.ask(ask)


@pytest.mark.parametrize("name", ["mp3", "opus", "wav"])
def test_the_built_in_voice_speaks(server: Running, name: str) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            body = {"input": "Hello there, world.", "model": "builtin", "response_format": name}
            answer = await client.post(SPEECH, json=body)
            assert answer.status_code == 200, answer.text
            assert answer.headers["x-model"] == "builtin"
            heard = by_av(answer.content, "mp3" if name == "mp3" else None)
            seconds = heard.samples.size / heard.rate_hz
            assert 0.7 < seconds < 4
            assert np.abs(heard.samples).max() > 0.05

    server.ask(ask)


def test_a_voice_of_another_model_speaks_by_its_id(server: Running) -> None:
    async def ask(served: Served) -> None:
        async with served.client() as client:
            answer = await spoken(client, input="Hello there.", voice="builtin:heart")
            assert answer.headers["x-model"] == "builtin"
            assert answer.headers["x-sample-rate"] == "24000"

    server.ask(ask)


@pytest.mark.parametrize("form", ["audio", "sse"])
@pytest.mark.parametrize("name", ["mp3", "wav"])
def test_over_a_socket_a_cut_answer_is_seen_and_a_client_that_leaves_is_noticed(
    server: Running, name: str, form: str
) -> None:
    async def ask(served: Served) -> None:
        kind = {"response_format": name, "stream_format": form}
        options = {"chunk_frames": 1, "frames_per_word": 20}
        async with (
            on_socket(served.app) as address,
            httpx.AsyncClient(base_url=f"http://{address}", timeout=60) as client,
        ):
            client.headers["authorization"] = f"Bearer {served.key}"
            body = {**kind, "input": "one FAIL", "options": options}
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
                await client.post(SPEECH, json=body)
            body = {**kind, "input": "ENDLESS", "options": options}
            for _ in range(8):  # more than the rows that there are
                async with client.stream("POST", SPEECH, json=body) as answer:
                    assert answer.status_code == 200
                    assert await anext(answer.aiter_raw())
            answer = await client.post(SPEECH, json={**kind, "input": "one"})
            assert answer.status_code == 200

    server.ask(ask)
