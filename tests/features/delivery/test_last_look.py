"""What of one who waits others can judge, and when its next look would find something else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.delivery.last_look import FoundLook, is_unchanged, last_look_of
from mcp_agent_mail.features.messaging.visibility import open_inbox
from mcp_agent_mail.store.feed import AgentState
from tests.features.delivery.harness import DeliveryHarness
from tests.features.messaging.harness import APP

LAST = FoundLook(ProjectId(1), b"token", 7)
STATE = AgentState(ProjectId(1), b"token", False, 7)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


@pytest.mark.parametrize(
    ("last_look", "state", "unchanged"),
    [
        (LAST, STATE, True),
        (LAST, STATE._replace(newest=8), False),
        (LAST, STATE._replace(token_hash=b"another"), False),
        (LAST, STATE._replace(token_hash=None), False),
        (LAST, STATE._replace(is_gone=True), False),
        (LAST, STATE._replace(project_id=ProjectId(2)), False),
        (LAST, None, False),
        (LAST._replace(token_hash=None), STATE._replace(token_hash=b"another"), True),
    ],
)
def test_what_would_change_its_next_look(last_look: FoundLook, state: AgentState | None, unchanged: bool) -> None:
    assert is_unchanged(last_look, state) is unchanged


async def test_who_is_proven_by_its_token_stands_by_that_and_who_brings_a_join_code_by_nothing(
    harness: DeliveryHarness,
) -> None:
    red = harness.seeded.red
    proven = Caller(kind=CallerKind.AGENT, auth=AgentAuth.OPEN, agent_id=red.id, token_hash=b"token")
    mailbox = await harness.seeded.store.read(lambda view: open_inbox(view, ANYBODY, red.name, APP))

    assert last_look_of(proven, mailbox, 3) == (red.project_id, b"token", 3)
    assert last_look_of(ANYBODY, mailbox, 3) == (red.project_id, None, 3)
    assert last_look_of(replace(ANYBODY, join_code=b"code"), mailbox, 3) is None
    assert last_look_of(replace(proven, agent_id=AgentId(99)), mailbox, 3) is None
