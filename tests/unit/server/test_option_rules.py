from dataclasses import replace

import pytest

from menura.server.border.problems import Problem
from menura.server.models.model_facts import OptionWords
from menura.server.option_rules import check, offered
from menura.server.server_settings import ServerSettings
from tests.spoken_orders import FACTS as BARE

LIMITS = ServerSettings.parse({"max_option": 100})


def option(name: str, maximum: float | None = None) -> OptionWords:
    return OptionWords(name, "integer", 1, False, 0, maximum, (), "", "", "")


FACTS = replace(
    BARE, options=(option("steps"), option("bounded", 1000), option("parse_special_tokens"))
)


@pytest.mark.parametrize(
    "options",
    [{}, {"steps": 100}, {"steps": "100"}, {"steps": -1}, {"steps": [500]}, {"steps": "x"},
     {"bounded": 500}, {"unknown": 10**9}],
)  # fmt: skip
def test_what_is_the_models_own_matter_is_left_to_it(options: dict[str, object]) -> None:
    check(options, FACTS, LIMITS)


@pytest.mark.parametrize("value", [101, 10**400, "101", "1e9", 100.5, "inf"])
def test_an_option_without_a_bound_has_the_servers(value: object) -> None:
    with pytest.raises(Problem) as no:
        check({"steps": value}, FACTS, LIMITS)
    assert (no.value.status_code, no.value.param) == (400, "options.steps")


@pytest.mark.parametrize("value", [True, False, "true"])
def test_a_text_stays_text_unless_the_owner_allows_more(value: object) -> None:
    given = {"parse_special_tokens": value}
    with pytest.raises(Problem) as no:
        check(given, FACTS, LIMITS)
    assert (no.value.status_code, no.value.code) == (403, "option_not_allowed")
    assert [each.name for each in offered(FACTS, LIMITS)] == ["steps", "bounded"]
    allowed = ServerSettings.parse({"allow_control_tokens": True})
    check(given, FACTS, allowed)
    assert offered(FACTS, allowed) == FACTS.options
