"""The real application over a library of its own, with a workshop that needs no process.

`tone` is the default model and speaks like a recording; `jobs` is what the workshop was asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from starlette.testclient import TestClient

from menura.server.app import create_app
from menura.server.border.keys import KeyStore
from menura.server.border.metrics import Metrics
from menura.server.models.frames import Frame
from menura.server.models.names import Names
from menura.server.routes import ALL_SCOPES, Scope, ServerParts
from menura.server.server_settings import ServerSettings
from menura.server.voices.workshop_process import Workshop
from menura.voice_library.library import VoiceLibrary
from tests.kept_voices import SAID, beeps, flac_of, new_voice
from tests.unit.server.http_parts import ADDRESS
from tests.unit.server.served_models import DescribingPool

if TYPE_CHECKING:
    from menura.errors import MenuraError
    from menura.server.border.problems import Problem
    from menura.server.models.model_pool import ModelPool

PATHS = ("/v1/voices/check", "/v1/audio/voices", "/v1/voices/import", "/v1/audio/voice_consents")


class CannedWorkshop(Workshop):
    """Answers at once what its process would, or fails as it would with `fails`."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[dict[str, object]] = []
        self.fails: MenuraError | Problem | None = None
        self.given: list[bytes] = []

    async def done(self, job: Mapping[str, object]) -> Frame:
        """What the process would answer."""
        self.jobs.append({name: value for name, value in job.items() if name != "file"})
        if self.fails is not None:
            raise self.fails
        return self._answer(job)

    def _answer(self, job: Mapping[str, object]) -> Frame:
        file = Path(str(job["file"]))
        if job["job"] == "export":
            file.write_bytes(b"PK a voice")
            return Frame({})
        self.given.append(file.read_bytes())
        if job["job"] == "check":
            return Frame(CHECKED)
        if job["job"] == "import":
            return Frame({"ids": [VoiceLibrary().add(new_voice("Brought")).id]})
        file.with_name("made.flac").write_bytes(flac_of(beeps(3.0)))
        transcript = job.get("transcript") or SAID
        made = {"transcript": transcript, "seconds": 3.0, "sample_rate_hz": 24_000}
        return Frame({**made, "language": "german"})


CHECKED: Mapping[str, object] = {
    "report": {"seconds": 3.0, "findings": []},
    "peaks": [0.0, 1.0],
    "transcript": SAID,
    "seconds": 3.0,
    "trim": {"start_s": 0.1, "end_s": 2.9},
}


@dataclass(frozen=True)
class VoiceSite:
    """The application, its library, its workshop, and a key for each need."""

    client: TestClient
    speaker: TestClient
    stranger: TestClient
    library: VoiceLibrary
    workshop: CannedWorkshop


def voice_site(folder: Path, **settings: object) -> VoiceSite:
    """A site whose keys and model lie in the folder; its library is that of MENURA_HOME."""
    model = folder / "tone"
    model.mkdir()
    (model / "tone.json").write_text("{}")
    keys = KeyStore(folder / "keys.json")
    workshop = CannedWorkshop()
    names = Names.at_start([], {}, str(model))
    parts = ServerParts(
        pool=cast("ModelPool", DescribingPool()),
        names=names,
        keys=keys,
        limits=ServerSettings.parse(settings),
        metrics=Metrics(),
        workshop=workshop,
    )
    app = create_app(parts)

    def client(*scopes: Scope) -> TestClient:
        key = keys.add("test", frozenset(scopes)).key if scopes else ""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return TestClient(app, ADDRESS, raise_server_exceptions=False, headers=headers)

    return VoiceSite(
        client(*(ALL_SCOPES - {Scope.ADMIN})),
        client(Scope.SPEAK),
        client(),
        names.library,
        workshop,
    )
