"""`menura models`, `voices`, `doctor` and `version` in the test's own process."""

import re
from pathlib import Path

import pytest

import menura
from menura import models
from menura.catalogue import known_models
from menura.cli import health
from menura.errors import DownloadError, MenuraError
from menura.models import PullProgress
from tests.command_line import Ran, run


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


def test_all_known_models_are_listed() -> None:
    ran = run("models", "list")
    names = [line.split()[0] for line in ran.out.splitlines()[1:] if line and line[0] != "B"]
    assert names == [model.name for model in known_models()]
    assert re.search(r"^builtin +yes +none +presets +Apache-2\.0$", ran.out, re.MULTILINE)


def test_the_list_as_json_says_what_is_here() -> None:
    listed = run("models", "list", "--json").answer["models"]
    assert isinstance(listed, list)
    here = {model["name"]: model["here"] for model in listed}
    assert here == {model.name: model.name == "builtin" for model in known_models()}


def test_a_model_is_shown_with_its_licence() -> None:
    ran = run("models", "show", "echo-tts-base")
    assert "CC-BY-NC-SA-4.0 (generated speech too: CC-BY-NC-SA-4.0)" in ran.out
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


def test_licence_and_size_are_told_before_a_pull(hub: list[str]) -> None:
    ran = run("models", "pull", "echo-tts-base", "--revision", "v1")
    assert hub == ["echo-tts-base huggingface v1"]
    size, licence, done = ran.stderr.splitlines()
    assert size.startswith("echo-tts-base  ~7.5 GB from huggingface into ")
    assert licence.startswith("licence  CC-BY-NC-SA-4.0")
    assert licence.endswith("NOT FOR COMMERCIAL USE")
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


def test_removing_needs_a_yes_where_nobody_can_be_asked(hub: list[str]) -> None:
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
def test_removing_asks_on_a_terminal(reply: bytes, removed: list[str], hub: list[str]) -> None:
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


def test_voices_of_another_model(tmp_path: Path) -> None:
    (tmp_path / "tone.json").write_text("{}")
    listed = run("voices", "-m", str(tmp_path), "--json").answer["voices"]
    assert isinstance(listed, list)
    assert [voice["languages"] for voice in listed] == [["english"], ["chinese"]]


def test_the_version_is_told_both_ways() -> None:
    assert run("version").out == run("--version").out == f"menura {menura.__version__}\n"


def test_the_help_names_every_exit_code() -> None:
    page = run("--help").out
    codes = {kind.exit_code for kind in MenuraError.__subclasses__()} | {0, 1, 130}
    assert codes <= {int(code) for code in re.findall(r"^  (\d+) ", page, re.MULTILINE)}


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


def test_the_doctor_says_what_is_broken(no_torch: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_THREAD", "2")
    ran = run("doctor", "--json")
    assert (ran.code, ran.answer["ok"]) == (1, False)
    assert ran.stderr.startswith("error: MENURA_THREAD is not a variable that Menura knows")
