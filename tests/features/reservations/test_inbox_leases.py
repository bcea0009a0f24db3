"""Mail and reservations: only an exclusive reservation that begins with `.mcp-mail/` can stop a letter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import FileReservationConflict
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.features.archiving.backpressure import Backpressure
from mcp_agent_mail.features.contacts.consent import DeliveryPolicy
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.tools import messaging_tools
from tests.features.messaging.harness import APP, LIB, NOBODY
from tests.features.reservations.claims import Claims, open_claims
from tests.store.grants import grant


def _ignore(agent: Agent) -> None:
    """Who acts is not what these tests are about."""


OF_RED = ".mcp-mail/agents/RedStone/inbox/**"


@pytest.fixture
async def claims(tmp_path: Path) -> AsyncIterator[Claims]:
    async with open_claims(tmp_path) as opened:
        yield opened


async def send(claims: Claims, sender: str, *, respects_leases: bool = True, **arguments: object) -> dict[str, object]:
    service = MessagingService(
        claims.seeded.store,
        body_max_bytes=10_000,
        note_activity=_ignore,
        throttle=Backpressure().keep,
        clock=claims.seeded.clock,
        delivery=DeliveryPolicy(rules=ContactRules(), respects_leases=respects_leases),
    )
    tools = ToolTable(messaging_tools(service, claims.identities.caller))
    letter = {"project_key": APP, "sender_name": sender, "to": ["RedStone"], "subject": "s", "body_md": "b"}
    sent: dict[str, object] = await tools.run("send_message", {**letter, **arguments}, NOBODY)
    return sent


async def test_a_letter_to_a_leased_inbox_is_refused_and_told_who_holds_it(claims: Claims) -> None:
    held = await claims.hold("BlueLake", OF_RED)

    with pytest.raises(FileReservationConflict) as refusal:
        await send(claims, "GreenField")

    assert refusal.value.data["holders"] == [
        {"agent": "BlueLake", "reservation_id": held["id"], "path_pattern": OF_RED}
    ]
    assert claims.rows("SELECT count(*) FROM messages") == [(0,)]


@pytest.mark.parametrize("pattern", ["**", "agents/**", "*.md", ".mcp-mail", "**/inbox/**", ".mcp-mai?/**"])
async def test_a_pattern_that_does_not_begin_so_never_stops_mail(claims: Claims, pattern: str) -> None:
    await claims.hold("BlueLake", pattern)

    sent = await send(claims, "GreenField")

    assert sent["count"] == 1


@pytest.mark.parametrize("pattern", [".mcp-mail/**", ".mcp-mail/agents/*/inbox/*", ".mcp-mail/agents/RedStone/"])
async def test_every_pattern_that_covers_the_inbox_stops_it(claims: Claims, pattern: str) -> None:
    await claims.hold("BlueLake", pattern)

    with pytest.raises(FileReservationConflict):
        await send(claims, "GreenField")


async def test_the_holder_itself_may_write_and_others_to_other_inboxes(claims: Claims) -> None:
    await claims.hold("BlueLake", OF_RED)

    by_holder = await send(claims, "BlueLake")
    elsewhere = await send(claims, "GreenField", to=["BlueLake"])

    assert (by_holder["count"], elsewhere["count"]) == (1, 1)


async def test_shared_released_and_expired_reservations_stop_nothing(claims: Claims) -> None:
    await claims.hold("BlueLake", OF_RED, exclusive=False)
    shared = await send(claims, "GreenField")
    await claims.hold("BlueLake", OF_RED)
    await claims.release("BlueLake")
    released = await send(claims, "GreenField")
    await claims.hold("BlueLake", OF_RED, ttl_seconds=60)
    claims.seeded.clock.step(60)
    expired = await send(claims, "GreenField")

    assert [shared["count"], released["count"], expired["count"]] == [1, 1, 1]


async def test_a_broadcast_skips_whose_inbox_is_leased(claims: Claims) -> None:
    await claims.hold("BlueLake", OF_RED)

    sent = await send(claims, "GreenField", broadcast=True, to=[])

    assert [(one["agent"], one["code"]) for one in sent["skipped"]] == [  # type: ignore[attr-defined]  # plain JSON
        ("RedStone", "FILE_RESERVATION_CONFLICT")
    ]
    assert sent["count"] == 1


async def test_the_server_can_be_told_not_to_look(claims: Claims) -> None:
    await claims.hold("BlueLake", OF_RED)

    sent = await send(claims, "GreenField", respects_leases=False)

    assert sent["count"] == 1


async def test_of_a_letter_to_two_projects_the_inboxes_of_both_are_looked_at(claims: Claims) -> None:
    await grant(claims.seeded, claims.seeded.lib_blue, ".mcp-mail/agents/QuietFox/inbox/**")

    with pytest.raises(FileReservationConflict) as refusal:
        await send(claims, "GreenField", to=["RedStone", f"QuietFox@{LIB}"])

    assert refusal.value.data["recipient"] == "QuietFox"
    assert claims.rows("SELECT count(*) FROM messages") == [(0,)]
