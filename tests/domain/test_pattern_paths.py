"""A table of checked paths answers as `covers` does, lease by lease."""

from __future__ import annotations

import random

import pytest

from mcp_agent_mail.domain.pattern_paths import CheckedPaths
from mcp_agent_mail.domain.patterns import UnreadablePattern, Work, covers, parse_pattern
from tests.domain.pattern_rules import paths
from tests.domain.test_pattern_rules import NAMES, generate

ODD = ["**/a", "**/*", "*", "**", "*a", "**/*a", "*a/", "*/a", "**/**", "dir/*/**", "a/**/", "tool://a", "/*a", "a/*/*"]


@pytest.mark.parametrize("ignore_case", [False, True])
def test_the_table_finds_exactly_the_paths_that_a_lease_covers(*, ignore_case: bool) -> None:
    chance = random.Random(5)
    texts = [*ODD, *(generate(chance)[0] for _ in range(300))]
    listed = [*paths(NAMES, 3), "dir/x", "dir/x/y", "A/b", "a/B", "[a]", "#a/b"]
    checked = CheckedPaths(listed, ignore_case=ignore_case)

    for text in texts:
        pattern = parse_pattern(text, ignore_case=ignore_case)
        expected = [path for path in listed if covers(pattern, path, Work())]
        assert checked.covered_by(pattern.text, Work()) == expected, text


def test_a_damaged_lease_is_told_apart_from_one_that_covers_nothing() -> None:
    with pytest.raises(UnreadablePattern):
        CheckedPaths(["a"]).covered_by("[a", Work())
