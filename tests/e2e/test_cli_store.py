"""`menura models`, `voices`, `doctor` and `version` in the test's own process."""

import re
from pathlib import Path

import pytest

import menura
from menura import models
from menura.catalogue import known_models
from menura.cli import health
from menura.cli.failures import EXIT_CODES
from menura.engines import registry
from menura.engines.echo_tts import tiny
from menura.errors import DownloadError
from menura.models import PullProgress
from tests.command_line import Ran, run
from tests.unit.store.fake_hub import safetensors


def only(ran: Ran, name: str) -> dict[str, object]:
    """The answer's one element of this list."""
    elements = ran.answer[name]
    assert isinstance(elements, list)
    [element] = elements
    assert isinstance(element, dict)
    return element


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were pulled or removed; `qwen3-tts-0.6b-base` cannot be reached."""
    asked: list[str] = []

    def pull(name: str, *, source: str, revision: str | None) -> list[PullProgress]:
        asked.append(f"{name} {source} {revision}")
        if name == "qwen3-tts-0.6b-base":
            raise DownloadError("the hub cannot be reached.")
        return [PullProgress(models.Phase.DONE, "a", 1, 1, 1, 1)]

    def remove(name: str) -> int:
        asked.append(name)
        return 7_936_868

    monkeypatch.setattr(models, "pull", pull)
    monkeypatch.setattr(models, "remove", remove)
    return asked


@pytest.fixture
def without_echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation that has no engine for one of the known models."""
    monkeypatch.delitem(registry._ENGINES, "echo-tts")


def test_all_known_models_are_listed() -> None:
    ran = run("models", "list")
    rows = ran.out.partition("\n\n")[0].splitlines()[1:]
    names = [line.split()[0] for line in rows]
    assert names == [model.name for model in known_models()]
    assert re.search(r"^builtin +yes +none +presets +Apache-2\.0$", ran.out, re.MULTILINE)


def test_the_list_as_json_says_what_is_here() -> None:
    listed = run("models", "list", "--json").answer["models"]
    assert isinstance(listed, list)
    here = {model["name"]: model["here"] for model in listed}
    assert here == {model.name: model.name == "builtin" for model in known_models()}


def test_a_model_is_shown_with_its_licence() -> None:
    ran = run("models", "show", "echo-tts-base")
    assert re.search(r"^licence +CC-BY-NC-SA-4\.0$", ran.out, re.MULTILINE)
    assert re.search(r"^speech licence +CC-BY-NC-SA-4\.0$", ran.out, re.MULTILINE)
    answer = run("models", "show", "echo-tts-base", "--json").answer
    assert (answer["name"], answer["here"], answer["engine"]) == (
        "echo-tts-base",
        False,
        "echo-tts",
    )


def test_the_path_of_what_is_here_and_of_what_is_not() -> None:
    ran = run("models", "path", "builtin")
    assert Path(ran.out.strip()).is_file()
    ran = run("models", "path", "qwen3-tts-0.6b-base")
    assert ran.code == 3
    assert "menura models pull qwen3-tts-0.6b-base" in ran.stderr


@pytest.mark.usefixtures("without_echo")
def test_licence_and_size_are_told_before_a_pull(hub: list[str]) -> None:
    ran = run("models", "pull", "echo-tts-base", "--revision", "v1")
    assert hub == ["echo-tts-base huggingface v1"]
    size, licence, warning, done = ran.stderr.splitlines()
    assert size.startswith("echo-tts-base  ~7.5 GB from huggingface into ")
    assert licence == (
        "licence  CC-BY-NC-SA-4.0, and CC-BY-NC-SA-4.0 for what it speaks  NOT FOR COMMERCIAL USE"
    )
    assert warning == "note: echo-tts-base: no engine of this installation speaks with it yet."
    assert done.startswith("echo-tts-base  is here")
    assert ran.stdout == b""


def test_a_quiet_pull_still_tells_the_licence(hub: list[str]) -> None:
    ran = run("models", "pull", "-q", "builtin-emma")
    assert ran.stderr == "licence  Apache-2.0\n"


def test_some_of_several_pulls_failing_is_partly_done(hub: list[str]) -> None:
    ran = run("models", "pull", "builtin-emma", "qwen3-tts-0.6b-base", "--json")
    assert ran.code == 5
    assert "error: 1 of 2 failed: qwen3-tts-0.6b-base.\n" in ran.stderr
    answers = ran.answer["models"]
    assert isinstance(answers, list)
    assert [(answer["name"], answer["ok"]) for answer in answers] == [
        ("builtin-emma", True),
        ("qwen3-tts-0.6b-base", False),
    ]


def test_one_pull_failing_has_its_own_code(hub: list[str]) -> None:
    ran = run("models", "pull", "qwen3-tts-0.6b-base", "--json")
    assert (ran.code, list(ran.answer)) == (DownloadError.exit_code, ["error"])


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    ran = run("models", "pull", "echo-tts-bas")
    assert ran.code == 3
    assert "Did you mean 'echo-tts-base'?" in ran.stderr


@pytest.fixture
def emma(tmp_path: Path) -> Path:
    """The file of the voice emma in the hub's cache."""
    folder = tmp_path / "hub" / "models--maureesewilliams--hibari" / "snapshots" / ("0" * 40)
    file = folder / "voices" / "bf_emma.int8.onnx"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    return file


@pytest.mark.parametrize("terminals", [[], ["stdin", "stdout", "stderr"]])
@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("builtin", 2, "is part of Menura's installation and cannot be removed alone"),
        ("builtin-kore", 3, "nothing of model 'builtin-kore' is on this machine"),
        ("qwen3-tts-0.6b-base", 3, "nothing of model 'qwen3-tts-0.6b-base' is on this machine"),
        ("someone/model", 3, "there is no 'someone/model' to remove"),
        ("buildin", 3, "there is no 'buildin' to remove"),
        ("folder", 2, "is a folder of yours: delete it yourself"),
    ],
)
def test_what_cannot_be_removed_is_told_before_anybody_is_asked(
    name: str,
    code: int,
    words: str,
    terminals: list[str],
    hub: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    given = "./folder" if name == "folder" else name
    ran = run("models", "remove", given, stdin=b"y\n", terminals=terminals)
    assert (ran.code, hub) == (code, [])
    assert words in ran.stderr
    assert "--yes" not in ran.stderr
    assert "Remove" not in ran.stderr


@pytest.mark.parametrize("name", ["qwen3-tts-0.6b-base", "someone/model"])
def test_leftovers_of_a_broken_pull_can_be_removed(
    name: str, hub: list[str], tmp_path: Path
) -> None:
    for repo in ("Qwen--Qwen3-TTS-12Hz-0.6B-Base", "someone--model"):
        (tmp_path / "hub" / f"models--{repo}" / "blobs").mkdir(parents=True)
    ran = run("models", "remove", name, stdin=b"y\n", terminals=["stdin", "stdout", "stderr"])
    assert (ran.code, hub) == (0, [name])


def test_removing_needs_a_yes_where_nobody_can_be_asked(hub: list[str], emma: Path) -> None:
    ran = run("models", "remove", "builtin-emma")
    assert (ran.code, hub) == (2, [])
    assert "say --yes" in ran.stderr
    ran = run("models", "remove", "builtin-emma", "--yes")
    assert (ran.code, hub, ran.stderr) == (
        0,
        ["builtin-emma"],
        "builtin-emma  removed, 7.9 MB freed\n",
    )


@pytest.mark.parametrize(("reply", "removed"), [(b"y\n", ["builtin-emma"]), (b"n\n", [])])
def test_removing_asks_on_a_terminal(
    reply: bytes, removed: list[str], hub: list[str], emma: Path
) -> None:
    ran = run(
        "models", "remove", "builtin-emma", stdin=reply, terminals=["stdin", "stdout", "stderr"]
    )
    assert hub == removed
    assert (ran.code == 0) == bool(removed)
    assert "Remove builtin-emma from this machine?" in ran.stderr


def test_a_damaged_model_is_told_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3_tts"}')
    (folder / "model.safetensors").write_bytes(b"not tensors at all")
    ran = run("models", "verify", str(folder), "--json")
    assert ran.code == 1
    model = only(ran, "models")
    assert model["ok"] is False
    files = model["files"]
    assert isinstance(files, list)
    problems = {file["name"]: file["problems"] for file in files}
    assert problems["model.safetensors"]
    assert "error: model" in ran.stderr
    assert "model.safetensors" in run("models", "verify", str(folder)).out


def test_a_whole_model_is_good() -> None:
    ran = run("models", "verify", "builtin", "--json")
    assert (ran.code, only(ran, "models")["ok"]) == (0, True)


@pytest.mark.parametrize("verb", ["pull", "verify", "remove", "show", "path"])
def test_a_verb_without_a_name_is_misuse(verb: str) -> None:
    ran = run("models", verb, *(["--yes"] if verb == "remove" else []))
    assert ran.code == 2
    assert "error: " in ran.stderr


@pytest.mark.parametrize("arguments", [[], ["models"]])
def test_nothing_to_do_shows_the_help(arguments: list[str]) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.stdout) == (2, b"")
    assert ran.stderr.startswith("Usage: menura")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sya"], "Did you mean 'say'?"),
        (["models", "pul"], "Did you mean 'pull'?"),
        (["doctor", "--jsn"], "Did you mean '--json'?"),
    ],
)
def test_typos_get_a_suggestion(arguments: list[str], words: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert words in ran.stderr


@pytest.mark.parametrize("arguments", [["voices"], ["voices", "list"]])
def test_voices_say_whether_they_are_here(arguments: list[str]) -> None:
    ran = run(*arguments)
    assert re.search(
        r"^heart +english +American English, female +yes, the default$", ran.out, re.MULTILINE
    )
    assert re.search(
        r"^emma .* bring it with: menura models pull builtin-emma$", ran.out, re.MULTILINE
    )
    listed = run(*arguments, "--json").answer["voices"]
    assert isinstance(listed, list)
    assert [voice["name"] for voice in listed if voice["here"]] == ["heart"]


def test_the_default_voice_of_the_settings_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_DEFAULT_VOICE", "Fable")
    page = run("voices").out
    assert re.search(r"^heart .* yes$", page, re.MULTILINE)
    assert re.search(
        r"^fable .* the default; bring it with: menura models pull", page, re.MULTILINE
    )
    listed = run("voices", "--json").answer["voices"]
    assert isinstance(listed, list)
    assert [voice["name"] for voice in listed if voice["is_default"]] == ["fable"]


def test_a_default_voice_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_DEFAULT_VOICE", "fabel")
    ran = run("voices")
    assert (ran.code, ran.stdout) == (2, b"")
    assert ran.stderr.startswith("error: MENURA_DEFAULT_VOICE: the voice 'fabel' is not one of")
    assert ran.stderr.endswith("Did you mean 'fable'?\n")


def test_the_default_voice_is_that_of_the_default_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENURA_DEFAULT_VOICE", "fabel")
    (tmp_path / "tone.json").write_text("{}")
    listed = run("voices", "-m", tmp_path, "--json").answer["voices"]
    assert isinstance(listed, list)
    assert [voice["is_default"] for voice in listed] == [True, False]


def test_voices_of_another_model(tmp_path: Path) -> None:
    (tmp_path / "tone.json").write_text("{}")
    listed = run("voices", "-m", str(tmp_path), "--json").answer["voices"]
    assert isinstance(listed, list)
    assert [voice["languages"] for voice in listed] == [["english"], ["chinese"]]


def test_the_version_is_told_both_ways() -> None:
    assert run("version").out == run("--version").out == f"menura {menura.__version__}\n"
    assert run("version", "--json").answer == {"menura": menura.__version__}


@pytest.mark.parametrize(
    "arguments",
    [["--debug", "version"], ["version", "--debug"], ["models", "--debug", "list"],
     ["voices", "--no-color"], ["voices", "list", "--debug"]],
)  # fmt: skip
def test_what_every_command_takes_may_stand_anywhere(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(*arguments).code == 0


@pytest.mark.parametrize("group", [[], ["models"], ["voices", "list"]])
def test_no_line_of_a_help_is_cut(group: list[str]) -> None:
    assert "..." not in run(*group, "--help").out.partition("\n")[2]


def test_the_examples_need_no_engine_that_is_not_here() -> None:
    for page in (run("--help").out, run("say", "--help").out):
        lacking = [known.name for known in known_models() if known.engine not in registry.names()]
        assert [name for name in lacking if name in page] == []


@pytest.mark.usefixtures("without_echo")
def test_models_without_an_engine_say_so() -> None:
    page = run("models", "list").out
    assert "\necho-tts-base *  " in page
    assert "\nbuiltin  " in page
    assert "*  no engine of this installation speaks with it yet\n" in page
    assert "no engine of this installation" in run("models", "show", "echo-tts-base").out
    assert "no engine of this installation" not in run("models", "show", "builtin").out
    listed = run("models", "list", "--json").answer["models"]
    assert isinstance(listed, list)
    ready = {model["engine"] for model in listed if model["engine_installed"]}
    assert ready == {"builtin", "qwen3-tts"}


def test_the_help_names_every_exit_code() -> None:
    page = run("--help").out
    codes = [int(code) for code in re.findall(r"^  (\d+) ", page, re.MULTILINE)]
    assert codes == list(EXIT_CODES)


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "torch_build", lambda: None)
    monkeypatch.setattr(health, "devices", list)


def test_the_doctor_finds_nothing_broken(no_torch: None) -> None:
    ran = run("doctor")
    assert ran.code == 0
    assert "pip install 'menura[torch]'" in ran.out
    assert re.search(r"^  builtin +ready$", ran.out, re.MULTILINE)
    assert re.search(r"^  threads +not set \(default\)$", ran.out, re.MULTILINE)
    assert ran.out.splitlines()[-1] == "Nothing is broken."
    answer = run("doctor", "--json").answer
    assert (answer["ok"], answer["menura"]) == (True, menura.__version__)


def test_the_doctor_shows_no_empty_heading(no_torch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_THREADS", "0")
    ran = run("doctor")
    assert ran.code == 1
    assert "\nsettings\n  not read    they are wrong; see the error below\n\n" in ran.out
    assert ran.stderr == (
        "error: MENURA_THREADS='0' is not allowed: it must be a whole number from 1 to 1024.\n"
    )


def test_the_doctor_shows_what_was_chosen_for_the_server(
    no_torch: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MENURA_SERVER_PORT", "8123")
    page = run("doctor").out.partition("\nserver settings\n")[2]
    assert re.match(r"  port +8123 \(MENURA_SERVER_PORT\)\n  others +\d\d at their defaults", page)
    answer = run("doctor", "--json").answer["server_settings"]
    assert isinstance(answer, list)
    assert {"name": "port", "value": 8123, "source": "MENURA_SERVER_PORT"} in answer


def test_the_doctor_says_what_is_broken(no_torch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_THREAD", "2")
    ran = run("doctor", "--json")
    assert (ran.code, ran.answer["ok"]) == (1, False)
    assert ran.stderr.startswith("error: MENURA_THREAD is not a variable that Menura knows")


def test_many_faults_of_a_file_are_told_in_short_with_what_to_do(tmp_path: Path) -> None:
    tiny.write(tmp_path)
    names = [f"strange.{i}" for i in range(1_200)]
    (tmp_path / "pytorch_model.safetensors").write_bytes(safetensors(1, names))
    ran = run("models", "verify", tmp_path)
    [line] = [line for line in ran.out.splitlines() if "  pytorch_model" in line][:1]
    assert re.search(r"; and [\d,]+ more \(--json has all\)  \(no SHA-256 of it is known", line)
    assert len(ran.stderr) < 1_000
    assert "The folder is your own: replace what is named" in ran.stderr
    assert "models remove" not in ran.stderr


def test_a_missing_autoencoder_of_a_folder_is_to_be_brought(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tiny.write_pair(folder, tmp_path / "elsewhere")
    ran = run("models", "verify", folder)
    assert ran.code == 1
    assert "put there what is missing, or bring the published model with" in ran.stderr
    assert run("models", "path", folder).code == 3


def test_an_autoencoder_alone_is_not_good(tmp_path: Path) -> None:
    ran = run("models", "verify", tiny.write(tmp_path) / "fish-s1-dac-min")
    assert ran.code == 1
    assert "tensors  " in ran.out
    assert ran.stderr.count("holds the autoencoder of Echo-TTS") == 1
