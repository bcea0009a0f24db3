"""An answer that was meant for what a page showed is none to anything else."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.contacts.shown_link import LinkChanged, answering_as_seen, seen_of
from tests.features.contacts.harness import APP, NOBODY, ContactsHarness
from tests.features.messaging.harness import OPERATOR

LINK = "SELECT status, expires_ts, updated_ts FROM contacts"
ANSWER = {"project_key": APP, "to_agent": "RedStone", "from_agent": "BlueLake"}


async def _answer_as_seen(harness: ContactsHarness, seen: str, *, accept: bool) -> AgentMailError | None:
    try:
        with answering_as_seen(seen):
            await harness.call("respond_contact", OPERATOR, **ANSWER, accept=accept)
    except AgentMailError as refused:
        return refused
    return None


@pytest.mark.parametrize("accept", [True, False])
async def test_one_that_comes_after_anothers_changes_nothing(harness: ContactsHarness, *, accept: bool) -> None:
    await harness.ask()
    await harness.call("respond_contact", NOBODY, **ANSWER, accept=accept)
    before = harness.rows(LINK)

    refused = await _answer_as_seen(harness, "pending", accept=not accept)

    assert isinstance(refused, LinkChanged)
    assert harness.rows(LINK) == before


async def test_one_to_what_is_so_counts_and_one_that_says_nothing_of_it_is_believed(harness: ContactsHarness) -> None:
    await harness.ask()
    await harness.ask()

    of_a_request = await _answer_as_seen(harness, "pending", accept=True)
    link = await harness.seeded.store.read(lambda view: next(iter(view.contacts.each())))
    of_an_approval = await _answer_as_seen(harness, seen_of(link), accept=False)
    of_anything = await _answer_as_seen(harness, "", accept=True)

    assert (of_a_request, of_an_approval, of_anything) == (None, None, None)
    assert [status for status, _, _ in harness.rows(LINK)] == ["approved"]


async def test_where_there_was_no_link_an_answer_to_none_counts(harness: ContactsHarness) -> None:
    wrong = await _answer_as_seen(harness, "pending", accept=True)
    right = await _answer_as_seen(harness, "none", accept=True)

    assert isinstance(wrong, LinkChanged)
    assert right is None
