"""Dialogue whose turns are marked by tags: a segment that begins inside a turn gets its tag again.

A model that reads "[S1] ... [S2] ..." knows only what stands in its segment. Where the planner cuts
a long turn, the rest of it would be spoken by whoever speaks first.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from menura.text.plan import Segment


def with_turns(segments: Sequence[Segment], tag: str) -> list[Segment]:
    """The segments, those that begin inside a turn with its tag before their text.

    `tag` is the pattern of the tags. Spans and durations stay. What stands before the first tag is
    nobody's turn.
    """
    found: list[Segment] = []
    in_force = ""
    for segment in segments:
        begins_inside = in_force and re.match(tag, segment.text) is None
        text = f"{in_force} {segment.text}" if begins_inside else segment.text
        found.append(replace(segment, text=text))
        in_force = last_tag(segment.text, tag) or in_force
    return found


def last_tag(text: str, tag: str) -> str:
    """The last tag of a text; empty where there is none."""
    return next((match.group() for match in reversed(list(re.finditer(tag, text)))), "")


def longest_tag_bytes(text: str, tag: str) -> int:
    """The bytes (UTF-8) that a tag of the text adds with the space behind it; 0 without any."""
    lengths = [len(match.group().encode()) + 1 for match in re.finditer(tag, text)]
    return max(lengths, default=0)
