"""The names of the user's voices for a shell's completion."""


def names_in_library(incomplete: str) -> list[str]:
    """The voices of the library whose names begin so; none where the library cannot be read."""
    from menura.errors import MenuraError  # noqa: PLC0415
    from menura.voice_library.library import VoiceLibrary  # noqa: PLC0415

    begun = incomplete.casefold()
    try:
        labels = [voice.label for voice in VoiceLibrary().voices()]
    except (MenuraError, OSError):
        return []
    return [label for label in labels if label.casefold().startswith(begun)]
