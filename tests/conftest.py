"""What all tests share: the tone engine is installed, the user's own folders stay untouched, and a
slow machine only takes longer.
"""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import menura

# The tone engine's entry point is found on this path, as that of an installed package would be.
sys.path.insert(0, str(Path(__file__).parent / "tone"))

# By themselves property tests fail where one example, or drawing it, takes too long.
settings.register_profile(
    "patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has its own settings, caches and hub; no test reaches a server of the user's."""
    monkeypatch.setenv("MENURA_HOME", str(tmp_path / "menura-home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("MENURA_SERVER", "off")


@pytest.fixture
def tone(tmp_path: Path) -> menura.TTS:
    """The tone engine, loaded from its folder as any model is."""
    folder = tmp_path / "tone-model"
    folder.mkdir()
    (folder / "tone.json").write_text("{}")
    return menura.load(folder)
