from __future__ import annotations

import pytest

from mcp_agent_mail.web.views.commit_lines import MOST_LINES, CommitLine, commit_lines


def test_lines_of_a_commit_are_told_without_its_sum_and_its_trailers() -> None:
    told = (
        "mail: BlueLake -> RedStone, AmberFox | Plan | B (+3)\n\nmail: BlueLake -> RedStone, AmberFox | Plan | B\n"
        "RedStone joined\nRedStone read 57\nproject app begun\n\nAgent: BlueLake\nOutbox-Seq: 3\n"
    )

    found, more = commit_lines(told)

    assert list(found) == [
        CommitLine(who="BlueLake", words="wrote to RedStone, AmberFox", subject="Plan | B"),
        CommitLine(who="RedStone", words="joined"),
        CommitLine(who="RedStone", words="read", number=57),
        CommitLine(who="", words="project app begun"),
    ]
    assert more == 0
    assert [one.told for one in found[:3]] == [
        "BlueLake wrote to RedStone, AmberFox: Plan | B",
        "RedStone joined",
        "RedStone read #57",
    ]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("archive: pages of 1 thread\n\nOutbox-Seq: 1\n", "archive: pages of 1 thread"),
        ("by hand", "by hand"),
        ("Fix: this\n", "Fix: this"),
    ],
)
def test_a_commit_of_one_line_is_that_line(told: str, words: str) -> None:
    assert commit_lines(told) == ([CommitLine(who="", words=words)], 0)


def test_an_empty_message_tells_nothing() -> None:
    assert commit_lines("") == ([], 0)


def test_of_many_lines_the_first_are_told_and_the_rest_counted() -> None:
    found, more = commit_lines("sum\n\n" + "\n".join(f"line {number}" for number in range(MOST_LINES + 5)))

    assert (len(found), more) == (MOST_LINES, 5)
