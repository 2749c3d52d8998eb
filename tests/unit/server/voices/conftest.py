from pathlib import Path

import pytest

from tests.unit.server.voices.voice_site import VoiceSite, voice_site


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Menura's folders, which are the test's own."""
    monkeypatch.setenv("MENURA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def voices(home: Path, tmp_path: Path) -> VoiceSite:
    """A site with an empty library."""
    return voice_site(tmp_path)
