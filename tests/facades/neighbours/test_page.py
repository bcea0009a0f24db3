"""The page about neighbours has the rows that tests hold, and each row stands once."""

from __future__ import annotations

import pytest

from tests.facades.claims.facts import FACTS
from tests.facades.facts import Fact
from tests.facades.neighbours import agentmail_rows, mailbox_rows, page, postal_rows
from tests.facades.neighbours.agentmail_page import PAGE, read_table

DOORS = {
    "postal": postal_rows.ROWS,
    "AgentMail": agentmail_rows.ROWS,
    "ClaudeMailbox": mailbox_rows.ROWS,
    "claims": FACTS,
}


def test_the_page_is_made_of_the_rows() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "python -m tests.facades.neighbours.page"


def test_every_row_about_agentmail_sums_up_rows_of_its_counted_table() -> None:
    """Those of the other doors are held by the tables of these: `tests/facades/*/test_facts.py`."""
    summed_up = {row for rows in PAGE.values() for row in rows}

    assert PAGE.keys() == {row.id for row in agentmail_rows.ROWS}
    assert all(PAGE.values())
    assert summed_up - read_table().keys() == set()


def test_a_row_of_the_page_is_none_of_the_table() -> None:
    """It would be counted twice."""
    assert PAGE.keys() & read_table().keys() == set()


@pytest.mark.parametrize("rows", DOORS.values(), ids=DOORS)
def test_no_row_stands_twice(rows: tuple[Fact, ...]) -> None:
    assert len({row.id for row in rows}) == len(rows)
    assert len({row.says for row in rows}) == len(rows)
