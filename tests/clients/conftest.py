"""The servers that the clients talk to: real processes, with the tone engine and with the voice."""

from collections.abc import Iterator

import pytest

from tests.serving_process import Told, serving, tone_model


@pytest.fixture(scope="session")
def tones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A server whose default model is the tone engine: what is heard says whose text it is."""
    folder = tmp_path_factory.mktemp("tones")
    tone = tone_model(folder / "tone")
    with serving(folder / "home", "--model", tone, "--wyoming", "0", "--per-key", "64") as told:
        yield warm(told)


@pytest.fixture(scope="session")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A server as it comes: with the built-in voice."""
    folder = tmp_path_factory.mktemp("voice")
    with serving(folder / "home", "--wyoming", "0") as told:
        yield warm(told)


def warm(server: Told) -> Told:
    """The server, once its model is loaded: some clients wait three seconds and no more."""
    with server.client() as client:
        assert client.post("/v1/audio/speech", json={"input": "one"}).status_code == 200
    return server
