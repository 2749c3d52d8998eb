from menura.server.models.model_facts import facts_of
from menura.server.voices.shapes import VoiceResource, shown
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import SourceKind, VoiceDefaults, VoiceSource
from tests.kept_voices import new_voice
from tests.tone.engine import ToneEngine


def test_a_voice_has_all_fields_and_fits_by_the_names_that_are_served() -> None:
    facts = facts_of(ToneEngine().spec)
    source = VoiceSource(SourceKind.DESIGN, "some-model", "An old man.", seed=7)
    defaults = VoiceDefaults(model="tone", speed=0.9, options={"frames_per_word": 3})
    new = new_voice(source=source, consent=None, defaults=defaults, preview=b"fLaC")
    voice = VoiceLibrary().add(new)
    found = shown(voice, [("choir", facts), ("damaged", None)])
    assert [(fit.model, fit.usable) for fit in found.fits] == [("choir", True)]
    assert found.consent is None
    assert found.has_preview
    assert found.source.model_dump() == {
        "kind": "design", "model": "some-model", "description": "An old man.", "preset": "",
        "seed": 7,
    }  # fmt: skip
    assert found.defaults.options == {"frames_per_word": 3}
    assert VoiceResource.model_validate_json(found.model_dump_json()) == found
    assert str(voice.folder) not in found.model_dump_json()
