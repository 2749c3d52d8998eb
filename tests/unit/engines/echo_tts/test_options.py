import math

import pytest

from menura.engines.echo_tts.options import EchoOptions
from menura.engines.echo_tts.presets import PRESETS
from menura.errors import InvalidValueError

# text, speaker, truncation, k, sigma
UPSTREAM = {
    "Independent-High-Speaker-CFG": (3.0, 8.0, 1.0, 1.0, 3.0),
    "Independent-High-CFG": (8.0, 8.0, 1.0, 1.0, 3.0),
    "Independent-Low-CFG": (3.0, 3.0, 1.0, 1.0, 3.0),
    "Independent-High-Speaker-CFG-Flat": (3.0, 8.0, 0.8, 1.2, 3.0),
    "Independent-High-CFG-Flat": (8.0, 8.0, 0.8, 1.2, 3.0),
    "Independent-Low-CFG-Flat": (3.0, 3.0, 0.8, 1.2, 3.0),
}


def test_without_a_preset_the_numbers_are_those_of_upstreams_example() -> None:
    filled = EchoOptions.parse({}).filled()
    assert filled.num_steps == 40
    assert (filled.cfg_scale_text, filled.cfg_scale_speaker) == (3.0, 8.0)
    assert (filled.cfg_min_t, filled.cfg_max_t) == (0.5, 1.0)
    assert filled.truncation_factor is None
    assert filled.rescale_k is None
    assert filled.rescale_sigma is None
    assert filled.speaker_kv_scale is None
    assert filled.guidance == "independent"


def test_the_presets_are_upstreams_six() -> None:
    assert PRESETS.keys() == UPSTREAM.keys()


@pytest.mark.parametrize("name", UPSTREAM)
def test_a_preset_is_numbers(name: str) -> None:
    filled = EchoOptions.parse({"preset": name}).filled()
    assert filled.num_steps == 40
    assert (filled.cfg_min_t, filled.cfg_max_t) == (0.5, 1.0)
    assert UPSTREAM[name] == (
        filled.cfg_scale_text,
        filled.cfg_scale_speaker,
        filled.truncation_factor,
        filled.rescale_k,
        filled.rescale_sigma,
    )


def test_an_option_beside_a_preset_wins() -> None:
    given = {"preset": "Independent-High-CFG-Flat", "cfg_scale_text": 0, "rescale_k": 2}
    filled = EchoOptions.parse(given).filled()
    assert filled.cfg_scale_text == 0.0
    assert filled.cfg_scale_speaker == 8.0
    assert filled.rescale_k == 2.0
    assert filled.rescale_sigma == 3.0


def test_blocks_are_read_from_a_command_line_and_from_lists() -> None:
    typed = EchoOptions.parse({"block_sizes": "32,128,480", "block_steps": "8,15,20"})
    given = EchoOptions.parse({"block_sizes": [32, 128, 480], "block_steps": (8, 15, 20)})
    assert typed == given
    assert typed.block_sizes == (32, 128, 480)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_steps": 0}, "num_steps=0 is not allowed: .*from 1 to 1000"),
        ({"num_steps": 2.5}, "whole number"),
        ({"num_steps": True}, "whole number"),
        ({"sequence_length": 0}, "from 1 to 640"),
        ({"sequence_length": 641}, "from 1 to 640"),
        ({"cfg_scale_text": math.nan}, "cfg_scale_text=nan"),
        ({"cfg_scale_speaker": math.inf}, "cfg_scale_speaker=inf"),
        ({"cfg_scale_text": -1}, "from 0 to 100"),
        ({"truncation_factor": 0}, "truncation_factor=0"),
        ({"speaker_kv_scale": "nan", "speaker_kv_min_t": 0.9}, "speaker_kv_scale='nan'"),
        ({"cfg_min_t": 1.5}, "from 0 to 1"),
        ({"cfg_min_t": 0.8, "cfg_max_t": 0.7}, "cfg_min_t=0.8 is above cfg_max_t=0.7"),
        ({"cfg_max_t": 0.4}, "cfg_min_t=0.5 is above cfg_max_t=0.4"),
        ({"speaker_kv_scale": 1.5}, "speaker_kv_scale=1.5 needs speaker_kv_min_t"),
        ({"speaker_kv_min_t": 0.9}, "speaker_kv_min_t=0.9 needs speaker_kv_scale"),
        ({"speaker_kv_max_layers": 4}, "speaker_kv_max_layers=4 needs speaker_kv_scale"),
        ({"block_steps": "8,15"}, "block_steps=8,15 needs block_sizes"),
        (
            {"block_sizes": "32,128", "block_steps": "8"},
            "block_steps=8 has 1 entry and .* has 2 entries",
        ),
        ({"block_sizes": "32", "sequence_length": 64}, "sequence_length=64 and block_sizes=32"),
        ({"block_sizes": "32", "length": "auto"}, "length='auto' and block_sizes=32"),
        ({"block_sizes": "33"}, "block_sizes=33 makes 33 frames, .* the last block 36."),
        ({"block_sizes": [32, 30]}, "block_sizes=32,30 makes 62 frames, .* the last block 32."),
        ({"block_sizes": "320,324"}, "makes 644 frames; at most 640 are allowed: make fewer"),
        ({"block_sizes": "324", "continue_segments": True}, "at most 320 .* continue_segments"),
        ({"block_sizes": "0,32"}, "block_sizes='0,32'"),
        ({"block_sizes": ""}, "block_sizes=''"),
        ({"length": "auto", "sequence_length": 64}, "leave one of them out"),
        ({"length": "short"}, "one of: full, auto"),
        ({"guidance": "alternating"}, "independent, joint"),
        ({"preset": "High-CFG"}, "Independent-High-CFG"),
        ({"cfg_scale": 3}, "cfg_scale"),
        ({"retries": 11}, "from 0 to 10"),
    ],
)
def test_what_is_not_allowed_says_what_is(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidValueError, match=said) as caught:
        EchoOptions.parse(given)
    assert caught.value.param in given or caught.value.param == "cfg_min_t"


@pytest.mark.parametrize(
    "given",
    [
        {"cfg_min_t": 0.7, "cfg_max_t": 0.7},
        {"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.0},
        {"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.9, "speaker_kv_max_layers": 24},
        {"rescale_k": 1.2, "rescale_sigma": 3.0},
        {"block_sizes": "320,320"},
        {"block_sizes": "320", "continue_segments": True},
        {"sequence_length": 1, "length": "full"},
        {"sequence_length": 639},
    ],
)
def test_what_stands_on_the_border_is_allowed(given: dict[str, object]) -> None:
    EchoOptions.parse(given)
