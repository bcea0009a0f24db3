from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import Conflict, InvalidInput
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.results import PreparedAttachments
from mcp_agent_mail.features.attachments.service import MessageStore
from mcp_agent_mail.features.messaging.requests import RecipientList, ReplyRequest, SendRequest
from mcp_agent_mail.features.messaging.service import MessagingService
from tests.features.attachments.workplace import open_workplace
from tests.features.messaging.harness import (
    APP,
    BODY_MAX_BYTES,
    LIB,
    OPERATOR,
    MessagingHarness,
    open_messaging,
    refused_send,
)
from tests.features.samples import OPEN
from tests.seeded_store import token_of


async def test_a_body_may_be_empty_and_may_fill_the_limit(harness: MessagingHarness) -> None:
    assert (await harness.read(f"message/{await harness.sent_id(body_md='')}"))["body_md"] == ""
    assert await harness.sent_id(body_md="x" * BODY_MAX_BYTES) == 2

    assert (await refused_send(harness, body_md="x" * (BODY_MAX_BYTES + 1))).code == "INVALID_INPUT"


async def test_a_retired_agent_sends_nothing(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.blue.id, tx.now, tx.now))

    assert (await refused_send(harness)).code == "CONFLICT"


async def test_a_token_proves_the_sender_and_another_agents_token_is_refused(harness: MessagingHarness) -> None:
    blue, red = token_of("BlueLake", harness.seeded.app), token_of("RedStone", harness.seeded.app)

    assert (await harness.send(sender_token=blue))["verified_sender"] is True
    assert (await refused_send(harness, sender_token=red)).code == "PERMISSION_DENIED"
    assert (await refused_send(harness, sender_token="amt_made_up")).code == "PERMISSION_DENIED"


async def test_in_strict_mode_a_send_needs_the_token(harness: MessagingHarness) -> None:
    harness.identities.auth = AgentAuth.STRICT

    assert (await refused_send(harness)).code == "AUTHENTICATION_REQUIRED"
    assert (await harness.send(sender_token=token_of("BlueLake", harness.seeded.app)))["verified_sender"] is True


async def test_the_operator_writes_as_the_overseer(harness: MessagingHarness) -> None:
    answer = await harness.send(OPERATOR, sender_name="Human")

    assert answer["deliveries"][0]["payload"]["from"] == "Human"


async def test_looking_into_ones_inbox_is_activity_and_the_operators_look_is_not(harness: MessagingHarness) -> None:
    await harness.inbox("RedStone")
    await harness.read("views/ack-required/RedStone")
    await harness.read("inbox/GreenField", OPERATOR)

    assert harness.noted == ["RedStone", "RedStone"]


async def test_whoever_sends_answers_or_gives_a_receipt_is_active(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()

    await harness.call("reply_message", sender_name="RedStone", message_id=message_id, body_md="yes")
    await harness.call("mark_message_read", agent_name="RedStone", message_id=message_id)

    assert harness.noted == ["BlueLake", "RedStone", "RedStone"]


async def test_a_sender_is_held_back_before_anything_is_stored_and_a_body_too_large_is_not(
    harness: MessagingHarness,
) -> None:
    stored_before: list[object] = []

    async def throttle() -> None:
        stored_before.append(harness.rows("SELECT count(*) FROM messages"))

    store = harness.seeded.store
    service = MessagingService(
        store, body_max_bytes=10, note_activity=lambda _: None, throttle=throttle, clock=harness.seeded.clock
    )
    request = SendRequest(
        project_key=APP, sender_name="BlueLake", recipients=RecipientList(to=("RedStone",)), subject="Plan", body_md="b"
    )
    reply = ReplyRequest(
        project_key=APP, sender_name="RedStone", message_id=MessageId(1), recipients=RecipientList(), body_md="b"
    )

    await service.send(OPEN, request)
    await service.reply(OPEN, reply)
    with pytest.raises(InvalidInput):
        await service.send(OPEN, replace(request, body_md="x" * 11))
    with pytest.raises(InvalidInput):
        await service.reply(OPEN, replace(reply, body_md="x" * 11))

    assert stored_before == [[(0,)], [(1,)]]


async def test_a_retired_agent_answers_nothing(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()
    seeded = harness.seeded
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))

    with pytest.raises(Conflict):
        await harness.call("reply_message", sender_name="RedStone", message_id=message_id, body_md="yes")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"to": ["NobodyHere"]}, "RECIPIENT_NOT_FOUND"),
        ({"to": ["RedStone"], "attachment_paths": ["data:,new", "data:,larger than ten"]}, "QUOTA_EXCEEDED"),
        ({"to": ["RedStone"], "attachment_paths": ["data:,new", f"sha256:{'0' * 64}"]}, "NOT_FOUND"),
        ({"broadcast": True, "to": [], "body_md": "x" * (BODY_MAX_BYTES + 1)}, "INVALID_INPUT"),
    ],
)
async def test_a_refused_send_leaves_nothing_of_what_it_brought(
    tmp_path: Path, arguments: dict[str, Any], code: str
) -> None:
    async with open_workplace(tmp_path / "place") as place:
        prepare = place.service.prepared
        async with open_messaging(tmp_path, prepare=prepare, attachments_limit_bytes=10) as harness:
            await harness.send(attachment_paths=["data:,old"])
            old = [kept.sha256 for kept in place.files.each()]

            refused = await refused_send(harness, **{"attachment_paths": ["data:,old", "data:,new"], **arguments})
            left = [kept.sha256 for kept in place.files.each()]
            await harness.send(attachment_paths=["data:,new"])

        assert (refused.code, left, place.left_over()) == (code, old, [])
        assert len(list(place.files.each())) == 2


async def test_whoever_cannot_be_reached_is_found_before_anything_is_kept(tmp_path: Path) -> None:
    asked = []

    def prepare(request: AttachmentRequest, store: MessageStore) -> AbstractAsyncContextManager[PreparedAttachments]:  # noqa: ARG001  # never
        asked.append(request)
        raise AssertionError

    async with open_messaging(tmp_path, prepare=prepare, enforced=True) as harness:
        unknown = await refused_send(harness, to=["NobodyHere"], attachment_paths=["data:,x"])
        far = await refused_send(
            harness, to=[f"QuietFox@{LIB}"], attachment_paths=["data:,x"], auto_contact_if_blocked=False
        )
        nothing = await refused_send(harness, attachment_paths=[f"sha256:{'0' * 64}"])

    assert [unknown.code, far.code, nothing.code] == ["RECIPIENT_NOT_FOUND", "CONTACT_REQUIRED", "NOT_FOUND"]
    assert asked == []
