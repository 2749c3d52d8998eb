"""What needs a real process: signals, pipes, what a cold start imports."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import menura

_ROOT = Path(menura.__file__).parents[1]
# A process that a shell started in the background inherits that Ctrl-C is ignored.
_HEAR_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
_MAIN = "from menura.__main__ import main; main()"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    (folder / "tone").mkdir(parents=True)
    (folder / "tone" / "tone.json").write_text("{}")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(_ROOT), str(_ROOT / "tests" / "tone")]))
    return folder


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _HEAR_CTRL_C + _MAIN, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_until_it_writes(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Return when the temporary file has audio in it; fail if the process ends before."""
    while not any(part.stat().st_size > 1_000 for part in parts(folder)):
        try:
            process.wait(timeout=0.01)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(process.communicate())


def parts(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.name.endswith(".part"))


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [
        (signal.SIGINT, 130, b"interrupted\n"),
        (signal.SIGTERM, 143, b""),
        (signal.SIGHUP, 129, b""),
    ],
)
def test_a_signal_ends_it_without_a_trace(
    number: signal.Signals, code: int, told: bytes, here: Path
) -> None:
    with start("say", "-m", "tone", "ENDLESS", "-o", "a.wav") as process:
        wait_until_it_writes(process, here)
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (code, b"", told)
    assert [path.name for path in here.iterdir()] == ["tone"]


def test_streamed_audio_leaves_while_it_is_made_and_a_closed_pipe_is_quiet() -> None:
    with start("say", "-m", "tone", "ENDLESS", "-o", "-", "--stream") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(20_000)[:4] == b"RIFF"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("arguments", [["--help"], ["voices"], ["say", "", "--json"]])
def test_any_answer_into_a_closed_pipe_is_quiet(arguments: list[str]) -> None:
    nobody, out = os.pipe()
    os.close(nobody)  # before it starts, or its answer may be in the pipe by then
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _MAIN, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(out)
    assert b"Traceback" not in ran.stderr
    assert ran.returncode == 141


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _MAIN, "say", b"caf\xe9"], capture_output=True, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"error: the text holds bytes that are not UTF-8")


def imported_by(*arguments: str) -> set[str]:
    """The modules that a fresh process has imported after the command line was done."""
    program = (
        "import sys; from menura.cli.main import run; code = run(sys.argv[1:]); "
        "print(*sys.modules, sep='\\n', file=sys.stderr); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, check=True
    )
    return set(ran.stderr.decode().split())


def test_help_imports_nothing_heavy() -> None:
    heavy = {"torch", "numpy", "av", "soundfile", "huggingface_hub", "httpx", "rich", "hibari"}
    assert imported_by("--help") & heavy == set()


def test_speaking_imports_neither_torch_nor_a_client_of_the_hub(here: Path) -> None:
    modules = imported_by("say", "Hello.", "-q")
    heavy = {"torch", "av", "soundfile", "soxr", "huggingface_hub.hf_api", "httpx", "rich"}
    assert modules & heavy == set()
    assert (here / "speech.wav").stat().st_size > 10_000


def test_ctrl_c_while_modules_are_imported_is_an_interruption() -> None:
    """The signal comes within the import of typer, and for the second program within numpy's."""
    for module, arguments in (("typer", ["voices"]), ("numpy", ["say", "Hello."])):
        program = (
            "import signal, sys\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name == {module!r}:\n"
            "            sys.meta_path.remove(self)\n"
            "            signal.raise_signal(signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupting())\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", _HEAR_CTRL_C + program + _MAIN, *arguments, "--json"],
            capture_output=True,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (130, b"interrupted\n")
        assert json.loads(ran.stdout)["error"]["code"] == "interrupted"


def test_an_import_that_fails_after_ctrl_c_is_an_interruption(here: Path) -> None:
    """Initialisers in C turn a KeyboardInterrupt into an ImportError."""
    (here / "onnxruntime.py").write_text(
        "import signal\n"
        "try:\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"
        "    raise ImportError('cannot load module more than once per process') from None\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", _HEAR_CTRL_C + _MAIN, "say", "Hello."],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), os.environ["PYTHONPATH"]])},
    )
    assert (ran.returncode, ran.stderr) == (130, b"interrupted\n")
    assert list(here.glob("speech*")) == []


def test_a_broken_installation_is_one_line() -> None:
    program = "import sys; sys.modules['typer'] = None; " + _MAIN
    ran = subprocess.run([sys.executable, "-c", program, "say"], capture_output=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"error: this installation of Menura is broken: ")
    assert ran.stderr.count(b"\n") == 1


CLOSED: dict[str, tuple[str, int, str, str]] = {
    "no stderr": ("say -m tone hi -o q.wav 2>&-", 0, "", ""),
    "a stderr that nobody reads": ("say -m tone hi -o q.wav 2>/dev/full", 0, "", ""),
    "no stdout, no data": ("say -m tone hi -q -o q.wav >&-", 0, "", ""),
    "a full stdout, no data": ("say -m tone hi -q -o q.wav >/dev/full", 0, "", ""),
    "nothing open": ("say -m tone hi -o q.wav <&- >&- 2>&-", 0, "", ""),
    "audio, no stdout": ("say hi -o - >&-", 2, "", "error: standard output is closed"),
    "audio, full stdout": (
        "say -m tone hi -o - >/dev/full", 1, "",
        "error: standard output cannot be written: No space left on device.",
    ),
    "streamed audio, full stdout": (
        "say -m tone hi -o - --stream >/dev/full", 1, "",
        "error: standard output cannot be written: No space left on device.",
    ),
    "a table, no stdout": ("voices >&-", 2, "", "error: standard output is closed"),
    "json, no stdout": ("say -m tone hi --json >&-", 2, "", "error: standard output is closed"),
    "json, full stdout": (
        "version --json >/dev/full", 1, "",
        "error: standard output cannot be written: No space left on device.",
    ),
    "a failure in json, full stdout": ("say ... --json >/dev/full", 6, "", "error: the text has"),
    "no stdin": ("say - <&-", 2, "", "error: standard input is closed"),
}  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(("line", "code", "out", "err"), CLOSED.values(), ids=CLOSED)
def test_closed_and_full_streams_are_told_or_do_without(
    line: str, code: int, out: str, err: str, here: Path
) -> None:
    ran = subprocess.run(
        f"{shlex.quote(sys.executable)} -m menura {line}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (code, out)
    assert ran.stderr.startswith(err)
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    if code == 0:
        assert (here / "q.wav").read_bytes()[:4] == b"RIFF"


def test_a_closed_pipe_of_words_does_not_undo_a_finished_file(here: Path) -> None:
    with start("say", "-m", "tone", "Hello there.", "-o", "a.wav") as process:
        assert process.stderr is not None
        process.stderr.close()
    assert process.returncode == 0
    assert (here / "a.wav").read_bytes()[:4] == b"RIFF"


def test_a_process_that_is_killed_leaves_nothing_under_the_name(here: Path) -> None:
    with start("say", "-m", "tone", "ENDLESS", "-o", "a.wav") as process:
        wait_until_it_writes(process, here)
        process.kill()
    assert {path.suffix for path in here.iterdir()} == {"", ".part"}


def test_many_at_once_lose_nothing(here: Path) -> None:
    processes = [start("say", "-m", "tone", f"word {'word ' * n}", "-q") for n in range(4)]
    for process in processes:
        _, err = process.communicate()
        assert (process.returncode, err) == (0, b"")
    files = list(here.glob("speech*.wav"))
    assert sorted(path.name for path in files) == [
        "speech-2.wav", "speech-3.wav", "speech-4.wav", "speech.wav",
    ]  # fmt: skip
    assert len({path.stat().st_size for path in files}) == 4


def test_python_dash_m_is_the_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "menura", "--version"], capture_output=True, check=True
    )
    assert ran.stdout.decode() == f"menura {menura.__version__}\n"


def test_no_color_may_stand_anywhere(here: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "menura", "say", "...", "--no-color"],
        capture_output=True,
        check=False,
        env={**os.environ, "FORCE_COLOR": "1"},
    )
    assert (ran.returncode, b"\x1b" in ran.stderr) == (6, False)


def test_what_stands_after_two_dashes_is_text(here: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "menura", "say", "-m", "tone", "-o", "a.wav", "--", "--no-color"],
        capture_output=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        | {"FORCE_COLOR": "1"},
    )
    assert ran.stdout == b""
    assert (here / "a.wav").stat().st_size > 1_000
    ran = subprocess.run(
        [sys.executable, "-m", "menura", "say", "--", "--json"], capture_output=True, check=True
    )
    assert ran.stdout == b""


def test_debug_shows_where_an_error_comes_from() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "menura", "say", "...", "--debug"], capture_output=True, check=False
    )
    assert ran.returncode == 6
    assert b"Traceback" in ran.stderr
    assert b"NothingToSpeakError" in ran.stderr


def test_shell_completion_knows_the_commands() -> None:
    environment = {
        **os.environ,
        "_MENURA_COMPLETE": "complete_bash",
        "COMP_WORDS": "menura d",
        "COMP_CWORD": "1",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "menura"], capture_output=True, check=False, env=environment
    )
    assert ran.stdout.split() == [b"doctor"]
