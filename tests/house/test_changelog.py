"""The changelog has an entry for the version that is being made."""

import re

import menura
from tests.house.source import ROOT


def has_entry(changelog: str, version: str) -> bool:
    """Whether a heading names the version, as `## 0.1.0` or `## [0.1.0] - 2026-01-31`."""
    heading = rf"^## \[?{re.escape(version)}\]?(\s|$)"
    return re.search(heading, changelog, re.MULTILINE) is not None


def test_the_current_version_has_an_entry() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert has_entry(changelog, menura.__version__), f"add `## {menura.__version__}` and its words."


def test_only_the_very_version_counts() -> None:
    assert has_entry("# Changes\n\n## [1.2.0] - today\n", "1.2.0")
    assert has_entry("## 1.2.0", "1.2.0")
    assert not has_entry("## 1.2.0.1\n## 1.2.01\n### 1.2.0\n## 1a2.0", "1.2.0")
