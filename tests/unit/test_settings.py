from dataclasses import dataclass
from pathlib import Path

import pytest

from menura import settings
from menura.errors import SettingsError
from menura.options import option
from menura.settings import SourcedOptions, folders, load, load_table


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "config").mkdir(parents=True)
    return tmp_path / "home"


def environment(home: Path, **variables: str) -> dict[str, str]:
    return {"MENURA_HOME": str(home), **variables}


def write_file(home: Path, text: str) -> Path:
    path = home / "config" / "settings.toml"
    path.write_text(text, "utf-8")
    return path


def test_without_anything_the_defaults_hold(home: Path) -> None:
    chosen = load(environment=environment(home))
    assert (chosen.default_model, chosen.device, chosen.threads) == ("builtin", "auto", None)
    assert set(chosen.sources.values()) == {"default"}


def test_a_flag_beats_the_environment_beats_the_file(home: Path) -> None:
    path = write_file(home, 'device = "cpu"\nthreads = 2\nprecision = "bf16"\n')
    chosen = load(
        {"device": "cuda", "threads": None, "precision": None},
        environment(home, MENURA_DEVICE="mps", MENURA_THREADS="3"),
    )
    assert (chosen.device, chosen.threads, chosen.precision) == ("cuda", 3, "bf16")
    sources = {name: chosen.sources[name] for name in ("device", "threads", "precision", "mark")}
    assert sources == {
        "device": "flag",
        "threads": "MENURA_THREADS",
        "precision": str(path),
        "mark": "default",
    }


@pytest.mark.parametrize(("word", "value"), [("false", False), ("0", False), ("yes", True)])
def test_a_switch_is_read_from_words(word: str, value: bool, home: Path) -> None:
    assert load(environment=environment(home, MENURA_MARK=word)).mark is value


def test_an_unknown_key_in_the_file_is_an_error_with_a_suggestion(home: Path) -> None:
    path = write_file(home, "thread = 2\n")
    with pytest.raises(SettingsError) as caught:
        load(environment=environment(home))
    assert caught.value.message.startswith(f"{path}: 'thread' is not a setting; the settings are: ")
    assert caught.value.message.endswith("Did you mean 'threads'?")


def test_an_unknown_variable_is_an_error_with_a_suggestion(home: Path) -> None:
    with pytest.raises(SettingsError, match="Did you mean 'MENURA_DEVICE'") as caught:
        load(environment=environment(home, MENURA_DEVISE="cpu"))
    assert caught.value.param == "MENURA_DEVISE"


def test_variables_of_others_are_no_settings(home: Path) -> None:
    load(
        environment=environment(
            home, MENURA_SERVER="off", MENURA_NATIVE_BODY="avx2", PATH="/bin", MENURAX="1"
        )
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MENURA_THREADS", "0"),
        ("MENURA_THREADS", "many"),
        ("MENURA_SENTENCE_PAUSE_S", "nan"),
        ("MENURA_MARK", "perhaps"),
    ],
)
def test_a_bad_value_names_where_it_stands(variable: str, value: str, home: Path) -> None:
    told = f"^{variable}='{value}' is not allowed: it must be"
    with pytest.raises(SettingsError, match=told) as caught:
        load(environment=environment(home, **{variable: value}))
    assert caught.value.param == variable


def test_a_bad_flag_names_the_flag(home: Path) -> None:
    told = r"^threads=0 \(--threads\) is not allowed: it must be a whole number from 1 to 1024\.$"
    with pytest.raises(SettingsError, match=told) as caught:
        load({"threads": 0}, environment(home))
    assert caught.value.param == "threads"


def test_a_bad_value_in_the_file_names_the_file_and_the_setting(home: Path) -> None:
    path = write_file(home, "threads = 0\n")
    with pytest.raises(SettingsError) as caught:
        load(environment=environment(home))
    assert caught.value.message.startswith(f"{path}: threads = 0 is not allowed: it must be")


@pytest.mark.parametrize("content", [b"device = ", b"\xff\xfe", b"device = 'a'\ndevice = 'b'"])
def test_a_broken_file_is_named(content: bytes, home: Path) -> None:
    path = home / "config" / "settings.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"cannot be read: .* Mend it or remove it") as caught:
        load(environment=environment(home))
    assert str(path) in caught.value.message


def test_menura_home_holds_all_folders(tmp_path: Path) -> None:
    own = folders({"MENURA_HOME": str(tmp_path)})
    assert own == settings.Folders(
        tmp_path / "config", tmp_path / "data", tmp_path / "cache", tmp_path / "state"
    )


def test_without_menura_home_they_are_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    own = folders({})
    assert own.config.name == "menura"
    assert len({own.config, own.data, own.cache, own.state}) >= 2


@dataclass(frozen=True)
class Table(SourcedOptions):
    port: int = option(8000, minimum=0, maximum=65535, help="The port.")
    no_key: bool = option(False, help="No key.")


def test_a_table_is_merged_as_the_settings_are(home: Path) -> None:
    write_file(home, "threads = 2\n[server]\nport = 1\nno_key = true\n")
    assert load(environment=environment(home)).threads == 2
    assert load_table("server", Table, environment=environment(home)) == Table(1, no_key=True)
    variables = environment(home, MENURA_SERVER_PORT="2", MENURA_SERVER_NO_KEY="no")
    assert load_table("server", Table, environment=variables) == Table(2, no_key=False)
    flags = {"port": 3, "no_key": None}
    assert load_table("server", Table, flags, variables) == Table(3, no_key=False)


def test_each_setting_is_shown_with_where_it_comes_from(home: Path) -> None:
    write_file(home, "threads = 2\n[server]\nport = 1\n")
    variables = environment(home, MENURA_SERVER_NO_KEY="yes")
    port, no_key = load_table("server", Table, environment=variables).shown("server.")
    file = str(folders(variables).config / "settings.toml")
    assert (port.name, port.value, port.source, port.help) == ("server.port", 1, file, "The port.")
    assert (no_key.name, no_key.value, no_key.source) == (
        "server.no_key", True, "MENURA_SERVER_NO_KEY",
    )  # fmt: skip
    own = {shown.name: shown for shown in load(environment=variables).shown()}
    assert own["threads"].source == file
    assert own["mark"].source == Table().shown()[0].source == "default"


def test_without_a_table_its_defaults_hold(home: Path) -> None:
    assert load_table("server", Table, environment=environment(home)) == Table()


def test_variables_of_a_table_are_no_settings_of_all(home: Path) -> None:
    load(environment=environment(home, MENURA_SERVER_PORT="2", MENURA_SERVER_ANYTHING="x"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[server]\nprot = 1", r"'prot' is not a setting of \[server\].*Did you mean 'port'"),
        ("[server]\nport = -1", r"port = -1 is not allowed: it must be a whole number from 0"),
        ("server = 1", r"'server' must be a table: write \[server\]"),
    ],
)
def test_a_wrong_table_is_named(text: str, words: str, home: Path) -> None:
    write_file(home, text)
    with pytest.raises(SettingsError, match=words):
        load_table("server", Table, environment=environment(home))


def test_an_unknown_variable_of_a_table_is_an_error(home: Path) -> None:
    variables = environment(home, MENURA_SERVER="off", MENURA_SERVER_PROT="1", MENURA_THREADS="2")
    with pytest.raises(SettingsError, match="Did you mean 'MENURA_SERVER_PORT'"):
        load_table("server", Table, environment=variables)


def test_a_bad_flag_of_a_table_is_named_as_typed(home: Path) -> None:
    with pytest.raises(SettingsError, match=r"^no_key='x' \(--no-key\) is not allowed"):
        load_table("server", Table, {"no_key": "x"}, environment(home))


def test_another_table_in_the_file_is_an_error(home: Path) -> None:
    write_file(home, "[servers]\nport = 1\n")
    with pytest.raises(SettingsError, match="'servers' is not a setting"):
        load(environment=environment(home))
