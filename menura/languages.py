"""The names of languages: what a user may write, and what the models call them."""

# ISO 639-1 codes of the languages that speech models commonly name.
LANGUAGES = {
    "ar": "arabic", "bn": "bengali", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "fa": "persian", "fi": "finnish", "fr": "french",
    "he": "hebrew", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian",
    "ja": "japanese", "ko": "korean", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sv": "swedish", "th": "thai",
    "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip


def name_of(given: str) -> str:
    """The name for `de`, `de-AT`, `de_AT` or `german`, in small letters; else what was given."""
    word = given.casefold()
    return LANGUAGES.get(word.replace("_", "-").split("-")[0], word)


def code_of(given: str) -> str:
    """The two letters for `german`, `de`, `de-AT` or `de_AT`; else what was given."""
    name = name_of(given)
    return next((code for code, known in LANGUAGES.items() if known == name), name)


def is_known(given: str) -> bool:
    """Whether it is one of these languages, by its name or as a tag."""
    return name_of(given.strip()) in LANGUAGES.values()
