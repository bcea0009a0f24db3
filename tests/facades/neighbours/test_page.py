"""The page about neighbours has the rows that tests hold, and each row stands once."""

from __future__ import annotations

import pytest

from tests.facades.claims.facts import FACTS
from tests.facades.facts import Fact
from tests.facades.neighbours import agentmail_rows, mailbox_rows, page, postal_rows

DOORS = {
    "postal": postal_rows.ROWS,
    "AgentMail": agentmail_rows.ROWS,
    "ClaudeMailbox": mailbox_rows.ROWS,
    "claims": FACTS,
}


def test_the_page_is_made_of_the_rows() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(), "python -m tests.facades.neighbours.page"


@pytest.mark.parametrize("rows", DOORS.values(), ids=DOORS)
def test_no_row_stands_twice(rows: tuple[Fact, ...]) -> None:
    assert len({row.id for row in rows}) == len(rows)
    assert len({row.says for row in rows}) == len(rows)
