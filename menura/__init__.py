"""Menura: text to speech on your own machine.

```python
import menura
tts = menura.load()
tts.speak("Hello from Menura.").save("hello.wav")
```

The names below are the whole public interface. They are imported when first used, so that
`import menura` costs nothing.
"""

import importlib

TYPE_CHECKING = False  # as typing's own, whose import would be the half of this module's cost
if TYPE_CHECKING:
    from menura.api import TTS, describe, load
    from menura.errors import MenuraError
    from menura.options import Options, option
    from menura.speech import AudioChunk, FinishReason, Reference, Speech, SpeechRequest, Voice
    from menura.streams import SpeechStream
    from menura.voice_files import load_voice

__version__ = "0.1.0"

__all__ = [
    "TTS",
    "AudioChunk",
    "FinishReason",
    "MenuraError",
    "Options",
    "Reference",
    "Speech",
    "SpeechRequest",
    "SpeechStream",
    "Voice",
    "describe",
    "load",
    "load_voice",
    "option",
]

_HOME = {
    "MenuraError": "menura.errors",
    "Options": "menura.options",
    "SpeechStream": "menura.streams",
    "TTS": "menura.api",
    "describe": "menura.api",
    "load": "menura.api",
    "load_voice": "menura.voice_files",
    "option": "menura.options",
}


def __getattr__(name: str) -> object:
    """The public name, imported from where it lives."""
    if name not in __all__:
        raise AttributeError(f"module 'menura' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME.get(name, "menura.speech")), name)


def __dir__() -> list[str]:
    return sorted(__all__)
