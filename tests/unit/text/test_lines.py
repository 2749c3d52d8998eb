from menura.text.lines import blocks

WRAPPED = (
    "It was the best of times, it was the worst of times, it was the age of\n"
    "wisdom, it was the age of foolishness, it was the epoch of belief, it was\n"
    "the epoch of incredulity, it was the season of Light, it was the season\n"
    "of Darkness.\n"
)


def split(text: str) -> list[str]:
    return [text[block.start : block.end] for block in blocks(text)]


def paragraphs(text: str) -> list[str]:
    found = [""]
    for block in blocks(text):
        found[-1] += text[block.start : block.end]
        if block.ends_paragraph:
            found.append("")
    assert found[-1] == ""
    return found[:-1]


def test_blank_lines_end_paragraphs_and_belong_to_the_one_before() -> None:
    assert paragraphs("\n \nOne.\n\n \t\nTwo.\r\n\r\nThree.\n\n") == [
        "\n \nOne.\n\n \t\n",
        "Two.\r\n\r\n",
        "Three.\n\n",
    ]


def test_a_paragraph_separator_ends_a_paragraph() -> None:
    assert paragraphs("One.\u2029Two.") == ["One.\u2029", "Two."]


def test_hard_wrapped_prose_is_one_block() -> None:
    assert split(WRAPPED) == [WRAPPED]


def test_hard_wrapped_chinese_is_one_block() -> None:
    text = ("今天天气很好" * 6 + "\n") * 3
    assert split(text) == [text]


def test_a_short_heading_stands_apart_from_prose() -> None:
    assert split("The Period\n" + WRAPPED) == ["The Period\n", WRAPPED]


def test_an_early_break_before_a_new_sentence_is_a_border() -> None:
    assert split(WRAPPED + "Next came the year after, in which nothing happened.") == [
        WRAPPED,
        "Next came the year after, in which nothing happened.",
    ]


def test_list_items_headings_quotations_and_dialogue_begin_blocks() -> None:
    text = "Buy\n- milk\n- eggs\n2) bread\n> he said\n# Title\nunder it\n— Oui.\n| cell |"
    assert split(text) == [
        "Buy\n", "- milk\n", "- eggs\n", "2) bread\n", "> he said\n", "# Title\n", "under it\n",
        "— Oui.\n", "| cell |",
    ]  # fmt: skip


def test_verse_breaks_at_each_line_but_a_comma_or_a_small_letter_goes_on() -> None:
    text = "Roses are red,\nViolets are blue\nSugar is sweet\nand so are you"
    assert split(text) == [
        "Roses are red,\nViolets are blue\n",
        "Sugar is sweet\nand so are you",
    ]


def test_one_line_a_paragraph_breaks_at_each_line() -> None:
    line = "A line that nobody wrapped by hand, because it is far too long for that. " * 3
    assert split(f"{line}\n{line}\n{line}") == [f"{line}\n", f"{line}\n", line]


def test_a_blank_text_is_one_block_and_an_empty_one_is_none() -> None:
    assert split(" \n \n") == [" \n \n"]
    assert split("") == []
