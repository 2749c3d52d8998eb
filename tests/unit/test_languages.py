import pytest

from menura.languages import name_of


@pytest.mark.parametrize(
    ("given", "name"),
    [("de", "german"), ("DE-at", "german"), ("de_AT", "german"), ("German", "german"),
     ("zh_Hans_CN", "chinese"), ("xx", "xx"), ("x_y", "x_y"), ("", "")],
)  # fmt: skip
def test_codes_and_names_mean_a_language(given: str, name: str) -> None:
    assert name_of(given) == name
