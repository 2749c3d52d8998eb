"""The models that Menura knows: where they are, how large, under what licence, good for what.

Sizes are the publishers' own byte counts. Where none was seen, the size is computed from the
tensors' shapes and marked approximate. A full SHA-256 is kept only where it is known for certain.
For some files the first eight digits are known; they are kept as a prefix and called that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from menura.errors import did_you_mean

# The words are those of `menura.engines.contract.Capability`, and `presets`.
CLONE, PRESETS, INSTRUCT, DESIGN = "clone", "presets", "instruct", "design"


@dataclass(frozen=True)
class ExpectedFile:
    """One file that a model needs: its path in the repository and what is known of its content.

    `n_bytes` is None where nobody published the size; `approximate_bytes` is then an estimate.
    Without a file that `is_optional` the model runs all the same.
    """

    name: str
    n_bytes: int | None = None
    approximate_bytes: int = 0
    sha256: str | None = None
    sha256_prefix: str = ""
    is_optional: bool = False

    @property
    def likely_bytes(self) -> int:
        """The size in bytes, exact if `n_bytes` is known, else the estimate."""
        return self.approximate_bytes if self.n_bytes is None else self.n_bytes

    def difference(self, n_bytes: int, sha256: str) -> str:
        """How a file of this size and SHA-256 differs from what is known; empty if it does not."""
        if self.n_bytes not in (None, n_bytes):
            return f"it has {n_bytes:,} bytes, expected {self.n_bytes:,}"
        known = self.sha256 or self.sha256_prefix
        return "" if sha256.startswith(known) else f"its SHA-256 is {sha256}, expected {known}"


@dataclass(frozen=True)
class Repo:
    """One repository: its Hugging Face id, the files needed, its ModelScope id if it has one."""

    hub_id: str
    files: tuple[ExpectedFile, ...]
    modelscope_id: str | None = None

    @property
    def short_id(self) -> str:
        """The id without its owner."""
        return self.hub_id.rpartition("/")[2]


@dataclass(frozen=True)
class KnownModel:
    """One model: names, repositories, licences, size and what it can do. No repository: built in.

    `output_licence` is empty where the licence of the weights says nothing about generated speech.
    """

    name: str
    engine: str
    description: str
    repos: tuple[Repo, ...]
    n_parameters: int | None
    sample_rate_hz: int
    languages: tuple[str, ...]
    capabilities: frozenset[str]
    code_licence: str
    weights_licence: str
    output_licence: str = ""

    @property
    def download_bytes(self) -> int:
        """What a fresh pull brings, in bytes; see `is_approximate`."""
        return sum(file.likely_bytes for repo in self.repos for file in repo.files)

    @property
    def is_approximate(self) -> bool:
        """Whether any file's size is an estimate."""
        return any(file.n_bytes is None for repo in self.repos for file in repo.files)

    @property
    def licence(self) -> str:
        """The weights' licence, and the one that binds generated speech, as one line."""
        if not self.output_licence:
            return self.weights_licence
        return f"{self.weights_licence} (generated speech too: {self.output_licence})"


_QWEN_LANGUAGES = (
    "chinese", "english", "japanese", "korean", "german", "french", "russian", "portuguese",
    "spanish", "italian",
)  # fmt: skip
_QWEN_FILES = (
    ExpectedFile("generation_config.json", 245, sha256_prefix="f1b90b45", is_optional=True),
    ExpectedFile("preprocessor_config.json", 127, sha256_prefix="efdde102", is_optional=True),
    ExpectedFile("vocab.json", 2_776_833, sha256_prefix="ca10d7e9"),
    ExpectedFile("merges.txt", 1_671_839, sha256_prefix="599bab54"),
    ExpectedFile("tokenizer_config.json", 7344, sha256_prefix="dc3c31c3"),
    ExpectedFile("speech_tokenizer/config.json", 2336, sha256_prefix="ee65bb90"),
    ExpectedFile(
        "speech_tokenizer/configuration.json", 76, sha256_prefix="6bc26d64", is_optional=True
    ),
    ExpectedFile(
        "speech_tokenizer/preprocessor_config.json",
        234,
        sha256_prefix="fcb3805e",
        is_optional=True,
    ),
    ExpectedFile("speech_tokenizer/model.safetensors", 682_293_092, sha256_prefix="836b7b35"),
)


@dataclass(frozen=True)
class _QwenVariant:
    kind: str
    description: str
    capabilities: frozenset[str]
    config: ExpectedFile
    weights: ExpectedFile
    n_parameters: int


def _qwen(size: str, variant: _QwenVariant) -> KnownModel:
    hub_id = f"Qwen/Qwen3-TTS-12Hz-{size}-{variant.kind}"
    return KnownModel(
        name=f"qwen3-tts-{size}-{variant.kind}".lower(),
        engine="qwen3-tts",
        description=variant.description,
        repos=(Repo(hub_id, (variant.config, variant.weights, *_QWEN_FILES), hub_id),),
        n_parameters=variant.n_parameters,
        sample_rate_hz=24_000,
        languages=_QWEN_LANGUAGES,
        capabilities=variant.capabilities,
        code_licence="Apache-2.0",
        weights_licence="Apache-2.0",
    )


def _config(n_bytes: int | None = None, sha256_prefix: str = "") -> ExpectedFile:
    return ExpectedFile("config.json", n_bytes, 4_500, sha256_prefix=sha256_prefix)


def _weights(
    n_bytes: int | None, approximate_bytes: int = 0, sha256_prefix: str = ""
) -> ExpectedFile:
    return ExpectedFile(
        "model.safetensors", n_bytes, approximate_bytes, sha256_prefix=sha256_prefix
    )


# 1.7B CustomVoice and VoiceDesign: 1,916,676,352 parameters of 2 bytes and a header of about 50 kB.
_QWEN_MODELS = (
    _qwen("0.6B", _QwenVariant(
        "Base", "speaks in the voice of a short recording; ten languages", frozenset({CLONE}),
        _config(4494, "2e714c78"), _weights(1_829_344_272, 0, "180b3b10"), 914_643_008,
    )),
    _qwen("0.6B", _QwenVariant(
        "CustomVoice", "nine preset voices; ten languages", frozenset({PRESETS}),
        _config(), _weights(1_811_626_576), 905_788_672,
    )),
    _qwen("1.7B", _QwenVariant(
        "Base", "speaks in the voice of a short recording; ten languages", frozenset({CLONE}),
        _config(4494, "b4f01752"), _weights(3_857_413_744, 0, "38fc7fc5"), 1_928_677_440,
    )),
    _qwen("1.7B", _QwenVariant(
        "CustomVoice", "nine preset voices that follow a style instruction; ten languages",
        frozenset({PRESETS, INSTRUCT}), _config(), _weights(None, 3_833_402_000), 1_916_676_352,
    )),
    _qwen("1.7B", _QwenVariant(
        "VoiceDesign", "makes a voice from a description in words; ten languages",
        frozenset({DESIGN}), _config(), _weights(None, 3_833_402_000), 1_916_676_352,
    )),
)  # fmt: skip

# Echo: 5,601,485,472 tensor bytes; its codec 1,870,857,736, of which 305 MB are rebuildable tables.
ECHO = KnownModel(
    name="echo-tts-base",
    engine="echo-tts",
    description="speaks up to 30 s at once in the voice of a recording; not for commercial use",
    repos=(
        Repo("jordand/echo-tts-base", (
            ExpectedFile("pytorch_model.safetensors", None, 5_601_650_000),
            ExpectedFile("pca_state.safetensors", None, 332_000),
        )),
        Repo("jordand/fish-s1-dac-min", (
            ExpectedFile("pytorch_model.safetensors", None, 1_870_930_000),
            ExpectedFile("config.json", None, 1_000, is_optional=True),
        )),
    ),
    n_parameters=2_800_742_736,
    sample_rate_hz=44_100,
    languages=("english",),
    capabilities=frozenset({CLONE}),
    code_licence="MIT and Apache-2.0",
    weights_licence="CC-BY-NC-SA-4.0",
    output_licence="CC-BY-NC-SA-4.0",
)  # fmt: skip

# Voice, what it is, file, size, SHA-256: the registry of hibari-tts 0.2.1 (a test compares them).
_BUILTIN_VOICES = (
    ("emma", "British, female", "bf_emma.int8.onnx", 7_936_868,
     "f709f0488ee63b583a22189a955aaf4257b9806dd330be3490661e53af0a89c1"),
    ("fenrir", "American, male", "am_fenrir_v2.int8.onnx", 8_031_158,
     "f59fbd87908c91f827bc21b1b89443757b9a8580db9eee20aa948deb731321f4"),
    ("fable", "British, male", "bm_fable.int8.onnx", 7_936_868,
     "c28529302f2d27cd12f62625c24425888c4e3c2675583100ec530259136b8bc6"),
    ("kore", "American, female", "af_kore.int8.onnx", 7_936_868,
     "346885752673e45d42f9864c9e2432094bc4b6385df060d4b83273da764d2fa9"),
)  # fmt: skip
BUILTIN = "builtin"
# The file of the voice inside the package, as the library's own register has it.
PACKAGED_FILE = ExpectedFile(
    "hibari.onnx",
    7_936_868,
    sha256="5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
)
BUILTIN_REPO_ID = "maureesewilliams/hibari"


def _builtin(name: str, description: str, files: tuple[ExpectedFile, ...]) -> KnownModel:
    return KnownModel(
        name=name,
        engine=BUILTIN,
        description=description,
        repos=(Repo(BUILTIN_REPO_ID, files),) if files else (),
        n_parameters=None,
        sample_rate_hz=24_000,
        languages=("english",),
        capabilities=frozenset({PRESETS}),
        code_licence="Apache-2.0",
        weights_licence="Apache-2.0",
    )


_KNOWN: Mapping[str, KnownModel] = MappingProxyType({
    model.name: model
    for model in (
        _builtin(BUILTIN, "the voice inside the package: English, at once, no download", ()),
        *(
            _builtin(
                f"{BUILTIN}-{voice}",
                f"one more built-in voice: English ({what})",
                (ExpectedFile(f"voices/{file}", n_bytes, sha256=sha256),),
            )
            for voice, what, file, n_bytes, sha256 in _BUILTIN_VOICES
        ),
        *_QWEN_MODELS,
        ECHO,
    )
})  # fmt: skip


def _by_repo_name(models: Iterable[KnownModel]) -> Mapping[str, KnownModel]:
    """Models by their repositories' ids, with and without owner, folded; no id that two share."""
    owners: dict[str, set[str]] = {}
    for model in models:
        for repo in model.repos:
            for name in (repo.hub_id, repo.short_id):
                owners.setdefault(name.casefold(), set()).add(model.name)
    return {name: _KNOWN[next(iter(who))] for name, who in owners.items() if len(who) == 1}


_BY_REPO_NAME = _by_repo_name(_KNOWN.values())


def known_models() -> tuple[KnownModel, ...]:
    """All known models: the built-in voice first, then by engine and size."""
    return tuple(_KNOWN.values())


def lookup(name: str) -> KnownModel | None:
    """The model of this short name or hub id (its owner may be left out), in any case; or None."""
    folded = name.strip().casefold()
    return _KNOWN.get(folded) or _BY_REPO_NAME.get(folded)


def suggest(name: str) -> str:
    """` Did you mean 'x'?` for the closest known name or hub id, or an empty string."""
    hub_ids = [repo.hub_id for model in known_models() for repo in model.repos]
    return did_you_mean(name, (*_KNOWN, *hub_ids))


def models_that(need: str) -> list[KnownModel]:
    """The models with this capability (`clone`, `instruct` ...) or language, the smallest first."""
    folded = need.casefold()
    able = [m for m in known_models() if folded in m.capabilities or folded in m.languages]
    return sorted(able, key=lambda model: model.download_bytes)
