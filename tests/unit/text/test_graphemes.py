from itertools import pairwise

import pytest

from menura.text.graphemes import cluster_starts


def clusters(text: str) -> list[str]:
    starts = [*cluster_starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def test_ascii_is_one_character_each() -> None:
    assert cluster_starts("abc") == [0, 1, 2]
    assert cluster_starts("") == []


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301\u0302",
        "👍\U0001f3fd",
        "👨\u200d👩\u200d👧\u200d👦",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "🏴\U000e0067\U000e0062\U000e007f",
        "🙂\u200d↔\ufe0f",
        "\r\n",
        "\u1100\u1161\u11a8",
        "가\u11a8",
        "क्षि",
        "क्\u200dष",
        "ក្ត",
        "กำ",
        "ที่",
        "\uff76\uff9e",
        "a\x00\u202e",
    ],
)
def test_a_cluster_stays_whole_between_its_neighbours(cluster: str) -> None:
    assert clusters(f"a{cluster}b") == ["a", cluster, "b"]


def test_flags_are_pairs() -> None:
    assert clusters("\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea\U0001f1eb") == [
        "\U0001f1eb\U0001f1f7",
        "\U0001f1e9\U0001f1ea",
        "\U0001f1eb",
    ]


def test_a_mark_after_a_newline_or_at_the_start_stands_alone() -> None:
    assert clusters("\u0301a\n\u0301") == ["\u0301", "a", "\n", "\u0301"]


def test_hangul_syllables_are_apart() -> None:
    assert clusters("한국") == ["한", "국"]


def test_a_burmese_killer_does_not_join_the_next_consonant() -> None:
    assert clusters("န်က") == ["န်", "က"]


def test_no_text_makes_a_cluster_of_more_than_four_letters() -> None:
    assert [len(cluster) for cluster in clusters("\u1100" * 10)] == [4, 4, 2]
    assert [cluster.count("क") for cluster in clusters("क्" * 10)] == [4, 4, 2]
