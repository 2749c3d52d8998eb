"""Whether a model can use a voice, and what is missing, is told from facts alone."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from menura.engines.builtin.engine import BuiltinEngine
from menura.engines.contract import EngineSpec, PresetVoice, ReferenceRules, TranscriptUse
from menura.engines.echo_tts.config import PUBLISHED
from menura.engines.echo_tts.description import spec_of as spec_of_echo
from menura.server.models.model_facts import facts_of
from menura.voice_library.fit import Fit, Need, fit
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import ClipRecord, SourceKind, VoiceRecord, VoiceSource
from tests.tone.engine import ToneEngine
from tests.zipped_voices import made_by_tone, voice

ECHO = spec_of_echo(PUBLISHED, "weights")
TONE = ToneEngine().spec
QWEN_RULES = ReferenceRules(
    TranscriptUse.BETTER, 0.1, (3.0, 30.0), (5.0, 15.0), 300.0, "in_context", "x_vector"
)
QWEN = replace(TONE, model="qwen3-tts-0.6b-base", reference=QWEN_RULES)
STRICT = replace(
    QWEN,
    model="strict",
    reference=replace(QWEN_RULES, transcript=TranscriptUse.NEEDED, way_without=""),
)
PRESETS = replace(TONE, model="qwen3-tts-0.6b-customvoice", capabilities=frozenset())


def kept(
    seconds: float = 10.0,
    said: str | None = "What I say.",
    language: str | None = "en",
    source: VoiceSource | None = None,
) -> LibraryVoice:
    record = VoiceRecord(
        id="voice_" + "0" * 32,
        label="Anna",
        language=language,
        notes="",
        made_on="2026-11-30T12:00:00Z",
        edited_on="2026-11-30T12:00:00Z",
        consent=None,
        source=source or VoiceSource(SourceKind.RECORDING),
        clips=(ClipRecord("clips/1.flac", "0" * 64, said, seconds, 24_000),),
    )
    return LibraryVoice(record, Path("none"))


@dataclass(frozen=True)
class Case:
    voice: LibraryVoice
    spec: EngineSpec
    usable: bool
    way: str
    missing: tuple[Need, ...]
    says: str
    better: str = ""


@pytest.mark.parametrize(
    "case",
    [
        Case(kept(), QWEN, True, "in_context", (), "its recording and what is said in it"),
        Case(kept(said=None), QWEN, True, "x_vector", (Need.TRANSCRIPT,),
             "from its recording (x_vector)", "the voice comes closer"),
        Case(kept(said=" \n"), QWEN, True, "x_vector", (Need.TRANSCRIPT,), "x_vector", "closer"),
        Case(kept(said=None), STRICT, False, "", (Need.TRANSCRIPT,), "give its text"),
        Case(kept(), STRICT, True, "in_context", (), "in_context"),
        Case(kept(said=None), ECHO, True, "latents", (), "from its recording (latents)"),
        Case(kept(), ECHO, True, "latents", (), "from its recording (latents)"),
        Case(kept(31.0), QWEN, True, "in_context", (Need.TRIM,), "speaks with it",
             "has 31 s: cut it to 5 to 15 seconds of clear speech, at a pause"),
        Case(kept(301.0), QWEN, False, "", (Need.TRIM,), "it takes 300"),
        Case(kept(2.0), QWEN, True, "in_context", (Need.RECORDING,), "speaks", "only 2.0 s"),
        Case(kept(0.05), QWEN, False, "", (Need.RECORDING,), "has 0.05 s and it needs 0.10"),
        Case(kept(2.0, None, "de"), QWEN, True, "x_vector",
             (Need.TRANSCRIPT, Need.RECORDING, Need.LANGUAGE), "speaks", "is in german"),
        Case(kept(language="de-AT"), ECHO, True, "latents", (Need.LANGUAGE,), "speaks",
             "The recording is in german; echo-tts-base speaks english."),
        Case(kept(language="English"), ECHO, True, "latents", (), "speaks"),
        Case(kept(language=None), ECHO, True, "latents", (), "speaks"),
        Case(kept(), PRESETS, False, "", (Need.MODEL_CANNOT_CLONE,),
             "cannot speak like a recording; these models can: qwen3-tts-0.6b-base"),
        Case(kept(), replace(TONE, reference=None), True, "", (), "speaks like its recording"),
    ],
)  # fmt: skip
def test_a_voice_and_a_model(case: Case) -> None:
    found = fit(case.voice, case.spec)
    assert (found.model, found.usable, found.way) == (case.spec.model, case.usable, case.way)
    assert found.missing == case.missing
    assert case.says in found.says
    assert case.better in found.better
    assert bool(found.better) == bool(case.usable and case.missing)
    assert fit(case.voice, facts_of(case.spec)) == found


def of_preset(preset: str, model: str = TONE.model) -> LibraryVoice:
    return kept(source=VoiceSource(SourceKind.PRESET, model=model, preset=preset))


def test_a_voice_of_a_preset_is_that_preset_on_its_own_model() -> None:
    says = "tone speaks with it as its own voice 'high'."
    assert fit(of_preset("High"), TONE) == Fit("tone", True, "preset", says)


@pytest.mark.parametrize(("preset", "model"), [("none", TONE.model), ("high", "other")])
def test_elsewhere_it_speaks_like_its_recording(preset: str, model: str) -> None:
    assert fit(of_preset(preset, model), TONE).way == "x_vector"


def test_a_preset_whose_file_is_not_here_says_how_to_bring_it() -> None:
    absent = replace(TONE, voices=(PresetVoice("high", (), missing="bring it with: x"),))
    found = fit(of_preset("high"), absent)
    assert (found.usable, found.missing) == (False, (Need.VOICE_FILE,))
    assert "bring it with: x" in found.says


def test_a_model_that_cannot_clone_may_still_have_the_preset() -> None:
    spec = BuiltinEngine.describe(None, {})
    assert fit(of_preset("heart", spec.model), spec).way == "preset"
    assert fit(kept(), spec).missing == (Need.MODEL_CANNOT_CLONE,)


def test_a_voice_without_a_recording_fits_the_weights_that_made_it(tmp_path: Path) -> None:
    new = replace(voice(), clips=(), source=VoiceSource(SourceKind.IMPORT))
    made = VoiceLibrary(tmp_path).add(new)
    assert made_by_tone().prompt.fingerprint == TONE.fingerprint
    found = fit(made, TONE)
    assert (found.usable, found.way, found.missing) == (True, "x_vector", ())
    other = fit(made, replace(TONE, fingerprint="2"))
    assert (other.usable, other.missing) == (False, (Need.ENGINE,))
    assert "no recording" in other.says
    assert "from its recording" in other.better
    assert fit(made, ECHO).missing == (Need.ENGINE,)
