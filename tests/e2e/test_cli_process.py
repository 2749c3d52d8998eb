"""What needs a real process: signals, pipes, what a cold start imports."""

import os
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
_MAIN = "from menura.cli.main import main; main()"


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
    with start(*arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode == 141


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


def test_debug_shows_where_an_error_comes_from() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "menura", "say", "...", "--debug"], capture_output=True, check=False
    )
    assert ran.returncode == 1
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
