"""The door to voices: those that people keep in the library, and those in files of their own.

```python
from menura import voices
library = voices.VoiceLibrary()
[voice.label for voice in library.voices()]
```
"""

from menura.voice_files import load_voice, named, origin_of, save
from menura.voice_library.fit import Fit, Need, fit
from menura.voice_library.from_models import drawn, of_preset
from menura.voice_library.importing import add_portable, import_file
from menura.voice_library.library import (
    UNSET,
    BrokenVoice,
    LibraryVoice,
    NewClip,
    NewPrompt,
    NewVoice,
    VoiceLibrary,
)
from menura.voice_library.making import Prepared, new_voice, prepare, refuse
from menura.voice_library.portable import Portable, export, read_portable
from menura.voice_library.ready import voice_for
from menura.voice_library.record import (
    ClipRecord,
    Consent,
    SourceKind,
    VoiceDefaults,
    VoiceRecord,
    VoiceSource,
)

__all__ = [
    "UNSET", "BrokenVoice", "ClipRecord", "Consent", "Fit", "LibraryVoice", "Need", "NewClip",
    "NewPrompt", "NewVoice", "Portable", "Prepared", "SourceKind", "VoiceDefaults",
    "VoiceLibrary", "VoiceRecord", "VoiceSource", "add_portable", "drawn", "export", "fit",
    "import_file", "load_voice", "named", "new_voice", "of_preset", "origin_of", "prepare",
    "read_portable", "refuse", "save", "voice_for",
]  # fmt: skip
