"""The door to voices names what there is, each thing from its own place."""

from menura import voice_files, voices
from menura.voice_library import library, record


def test_the_door_leads_to_the_library_and_to_files() -> None:
    assert voices.VoiceLibrary is library.VoiceLibrary
    assert voices.VoiceRecord is record.VoiceRecord
    assert voices.load_voice is voice_files.load_voice
    assert len(set(voices.__all__)) == len(voices.__all__)
    assert all(hasattr(voices, name) for name in voices.__all__)
