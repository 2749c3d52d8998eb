"""`menura say` through the user's own server, so that a model is loaded once.

A server is used only where it would speak as this process would: it is the user's own and of this
version, it has the model asked for, and all settings that speech depends on are equal. What it
cannot take over (a recording, a saved voice) and what it refuses for reasons of its own (it is
busy, it does not have the model) is spoken here, as without a server. Client: httpx.
"""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from menura import catalogue, models, settings
from menura.cli.remote_stream import RemoteStream, error_in
from menura.cli.say import SayFlags
from menura.errors import ModelNotFoundError, SettingsError
from menura.server import state_file
from menura.server.state_file import ServerState, Unusable
from menura.speech import SpeechRequest
from menura.voice_library.library import VoiceLibrary

SWITCH = "MENURA_SERVER"
_ON, _OFF = ("", "on", "yes", "true", "1"), ("off", "no", "false", "0")
_SPEECH = "/v1/audio/speech"
_CONNECT_S = 2.0
# The server bounds the time of a request itself: it may have to load a model first.
_SILENT_S = 1_800.0
# Refusals that this process would answer with the same code; others depend on the server.
_SAME_HERE = ("invalid_value", "unsupported", "nothing_to_speak")


def opened(flags: SayFlags, request: SpeechRequest) -> tuple[RemoteStream, str] | Unusable:
    """The speech as the server makes it and the server's address, or why this process must.

    Raises: MenuraError: the request is wrong, and would be here too; SettingsError.
    """
    if flags.local or not is_switched_on():
        return Unusable()
    state = state_file.find()
    if isinstance(state, Unusable):
        return state
    chosen = settings.load(
        {"device": flags.device, "precision": flags.precision, "threads": flags.threads}
    )
    asked = chosen.default_model if flags.model is None else flags.model
    name = name_there(asked, state.models)
    if name is None:
        return Unusable(f"the server does not serve the model {asked!r}")
    if reason := _only_here(flags, request) or _difference(state, chosen):
        return Unusable(reason)
    if len(request.text) > state.max_characters:
        return Unusable(f"the server takes {state.max_characters:,} characters at a time")
    stream = _begun(state, name, request)
    return stream if isinstance(stream, Unusable) else (stream, state.address)


def is_switched_on() -> bool:
    """Whether a server may be used at all. Raises: SettingsError: MENURA_SERVER is neither word."""
    word = os.environ.get(SWITCH, "").casefold()
    if word not in (*_ON, *_OFF):
        raise SettingsError(
            f"{SWITCH}={word!r} is not allowed: it must be on (the default) or off.", param=SWITCH
        )
    return word not in _OFF


def name_there(asked: str, given: Mapping[str, str]) -> str | None:
    """The server's name for a model, None where it has none.

    It knows the catalogue's names by itself, and those that were `given` to folders at its start.
    """
    try:
        found = models.resolve(asked)
    except ModelNotFoundError:
        return None  # loading it here says why
    if found.source is models.Source.FOLDER:
        folder = str(Path(asked).expanduser().resolve())
        return next((name for name, place in given.items() if place == folder), None)
    known = catalogue.lookup(asked)
    return None if known is None or known.name in given else known.name


def _only_here(flags: SayFlags, request: SpeechRequest) -> str:
    """Why no server may speak this; empty where one may."""
    if flags.ref is not None:
        return "a recording is spoken like only in this process"
    if not isinstance(request.voice, (str, type(None))):
        return "a saved voice is spoken with only in this process"
    if request.voice == "":
        return "no voice at all can be asked for only in this process"
    return ""


def _difference(state: ServerState, chosen: settings.Settings) -> str:
    """The first setting that differs, in words; empty where all are equal."""
    ours = state_file.speech_settings(chosen)
    for name, value in ours.items():
        theirs = state.settings.get(name)
        if theirs != value:
            return f"the server runs with {name}={theirs!r}, and {value!r} is asked for"
    return ""


def _begun(state: ServerState, model: str, request: SpeechRequest) -> RemoteStream | Unusable:
    """The stream when it has begun, or why it does not. Raises: MenuraError: see `_refused`."""
    import httpx  # noqa: PLC0415

    with ExitStack() as stack:
        client = stack.enter_context(
            httpx.Client(
                base_url=state.address,
                headers={"Authorization": f"Bearer {state.key}"},
                timeout=httpx.Timeout(_SILENT_S, connect=_CONNECT_S),
                trust_env=False,  # a proxy has no business with a server on this machine
            )
        )
        try:
            asked = client.stream("POST", _SPEECH, json=body_of(model, request))
            answer = stack.enter_context(asked)
            if answer.status_code != httpx.codes.OK:
                return _refused(answer.read(), answer.status_code)
        except httpx.HTTPError as error:
            return Unusable(f"the server at {state.address} cannot be asked ({error})")
        stream = RemoteStream(answer, request)
        stream.begin()
        if request.voice is not None and not _is_meant(str(request.voice), stream.applied):
            voice = stream.applied.get("voice")
            return Unusable(f"the server means {voice!r} by the voice {request.voice!r}")
        return stream.keeping(stack.pop_all())


def _is_meant(asked: str, applied: Mapping[str, object]) -> bool:
    """Whether the server speaks with the voice that the word means in this process too.

    A voice of the library has an id, and its label may be written in other letters. One that has
    none is the model's own, or a file that only the server was given.
    """
    library = VoiceLibrary()
    if voice_id := applied.get("voice_id"):
        return library.has(asked) and library.find(asked).id == voice_id
    return not library.has(asked) and str(applied.get("voice")).casefold() == asked.casefold()


def body_of(model: str, request: SpeechRequest) -> dict[str, object]:
    """The request as the server takes it, with all that a report needs in the answer."""
    body = {
        "model": model,
        "input": request.text,
        "voice": request.voice,
        "instructions": request.instruct,
        "language": request.language,
        "seed": request.seed,
        "speed": request.speed,
        "split": request.split,
        "strict": request.strict,
        "options": dict(request.options),
        "response_format": "f32",
        "stream_format": "sse",
    }
    return {name: value for name, value in body.items() if value is not None}


def _refused(content: bytes, status: int) -> Unusable:
    """Why the server does not speak it, where that is only the server's affair.

    Raises: MenuraError: the request is at fault, and would be refused here with the same code.
    """
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    error = error_in(body if isinstance(body, dict) else {})
    # A voice may be one that is not on this machine yet, which has a code of its own here.
    if error.code in _SAME_HERE and error.param != "voice":
        raise error
    return Unusable(f"the server answered {status}: {error.message}")
