import pytest

from tests.command_line import run

VERBS = ["list", "show", "add", "record", "design", "edit", "remove", "export", "import", "fit",
         "preview"]  # fmt: skip


def test_the_help_of_the_group_names_every_verb() -> None:
    page = run("voices", "--help").out
    for verb in VERBS:
        assert f"\n  {verb} " in page
    assert page.index("Examples:") < page.index("Commands:")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_and_can_answer_with_json(verb: str) -> None:
    ran = run("voices", verb, "--help")
    assert ran.code == 0
    assert "--json" in ran.out
    assert "..." not in ran.out.partition("Usage:")[2].partition("\n")[0].replace("[ARGS]...", "")


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "list"])
def test_a_verb_without_its_argument_is_misuse(verb: str) -> None:
    ran = run("voices", verb)
    assert ran.code == 2
    assert f"menura voices {verb} --help" in ran.stderr


def test_the_word_for_what_is_said_is_one_everywhere() -> None:
    pages = [run("say", "--help").out]
    pages += [run("voices", verb, "--help").out for verb in ("add", "record", "edit")]
    assert all("--ref-text TEXT" in page for page in pages)
    assert "Did you mean '--ref-text'" in run("voices", "add", "A", "a.wav", "--text", "x").stderr
