"""The work of `menura voices preview`: a voice is heard, or a model speaks a new preview of it."""

import io
from dataclasses import replace

from menura import __version__, api, saving
from menura.audio.decode import AudioCaps, decode
from menura.audio.encoders import Encoder, Tags, format_for
from menura.audio.tags import synthetic_mark
from menura.cli.audio_output import Target, chosen_target, opened
from menura.cli.quantities import duration
from menura.cli.reports import doubts_told
from menura.cli.say import SayFlags
from menura.cli.terminal import emit_json
from menura.cli.voice_facts import as_json, done
from menura.cli.voice_flags import PreviewFlags
from menura.errors import InvalidValueError
from menura.voice_library.labels import LIBRARY_PREFIX
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.record import SourceKind
from menura.voice_library.samples import sample_text

_DEFAULT_NAME = "preview.flac"


def preview(flags: PreviewFlags) -> None:
    """Nothing; the voice's preview, or its recording, is played or in a file.

    Raises: InvalidValueError: it has neither and no model was named; VoiceNotFoundError;
        UnsupportedError: the model cannot use the voice; OutputError.
    """
    library = VoiceLibrary()
    voice = library.find(flags.name)
    target = _target(flags)
    if flags.model is not None:
        flac = _spoken(voice, flags.model)
        voice = library.set_preview(voice.id, flac)
    else:
        flac = _kept(library, voice)
    heard = decode(flac, AudioCaps())
    with opened(target, heard.sample_rate_hz, _tags(voice)) as sinks:
        sinks.write(heard.samples)
    seconds = len(heard.samples) / heard.sample_rate_hz
    if flags.json:
        emit_json({"path": sinks.path, "seconds": round(seconds, 6), "voice": as_json(voice)})
    else:
        what = "a new preview, kept with it" if flags.model else _what(voice)
        done(voice, what, duration(seconds), sinks.path or "played")


def _kept(library: VoiceLibrary, voice: LibraryVoice) -> bytes:
    """The bytes of the voice's preview, else of its recording."""
    found = library.preview(voice)
    if found is not None:
        return found
    if not voice.record.clips:
        raise InvalidValueError(
            f"the voice {voice.label!r} has no recording and no preview: let a model speak one "
            "with --model MODEL.",
            param="--model",
        )
    return library.clip(voice)


def _spoken(voice: LibraryVoice, model: str) -> bytes:
    """A FLAC file in which the model says a few sentences of the voice's language."""
    tts = api.load(model)
    language = voice.record.language if voice.record.language in tts.spec.languages else None
    text = sample_text(language)
    with doubts_told():
        speech = tts.speak(text, voice=f"{LIBRARY_PREFIX}{voice.id}", language=language)
    sink = io.BytesIO()
    tags = saving.tags_of(speech.applied, mark=tts.settings.mark)
    with Encoder(sink, "flac", speech.sample_rate_hz, tags=tags) as encoder:
        encoder.write(speech.samples)
    return sink.getvalue()


def _target(flags: PreviewFlags) -> Target:
    """Where the audio goes. Raises: as `chosen_target`."""
    if flags.output is None:
        name = None if flags.play else _DEFAULT_NAME
        audio_format = format_for(_DEFAULT_NAME)
        return Target(name, audio_format, force=flags.force, play=flags.play, numbered=True)
    return chosen_target(SayFlags(output=flags.output, force=flags.force, play=flags.play))


def _what(voice: LibraryVoice) -> str:
    return "its preview" if voice.record.preview else "its recording"


def _tags(voice: LibraryVoice) -> Tags:
    """The file's tags. A person's own recording is no synthetic speech."""
    tags = Tags(title=_what(voice), artist=voice.label)
    is_recorded = voice.record.source.kind in (SourceKind.RECORDING, SourceKind.IMPORT)
    if is_recorded and not voice.record.preview:
        return tags
    return replace(tags, synthetic=synthetic_mark(f"menura/{__version__}", voice=voice.label))
