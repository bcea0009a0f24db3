from __future__ import annotations

import pytest

from mcp_agent_mail.web.views.happenings import MOST_HAPPENINGS, Happening, happenings


def test_lines_of_a_commit_are_told_without_its_sum_and_its_trailers() -> None:
    told = (
        "mail: BlueLake -> RedStone, AmberFox | Plan | B (+3)\n\nmail: BlueLake -> RedStone, AmberFox | Plan | B\n"
        "RedStone joined\nRedStone read 57\nproject app begun\n\nAgent: BlueLake\nOutbox-Seq: 3\n"
    )

    found, more = happenings(told)

    assert list(found) == [
        Happening(who="BlueLake", words="wrote to RedStone, AmberFox", subject="Plan | B"),
        Happening(who="RedStone", words="joined"),
        Happening(who="RedStone", words="read", number=57),
        Happening(who="", words="project app begun"),
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
    assert happenings(told) == ([Happening(who="", words=words)], 0)


def test_an_empty_message_tells_nothing() -> None:
    assert happenings("") == ([], 0)


def test_of_many_lines_the_first_are_told_and_the_rest_counted() -> None:
    found, more = happenings("sum\n\n" + "\n".join(f"line {number}" for number in range(MOST_HAPPENINGS + 5)))

    assert (len(found), more) == (MOST_HAPPENINGS, 5)
