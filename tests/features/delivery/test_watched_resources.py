"""Which resources can be watched, and as whom: by the rules of reading them."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.copy_changes import WatchedKey, WatchedKind
from mcp_agent_mail.features.delivery.watched_resources import NotWatchable, watchable_resources
from tests.features.delivery.harness import NOBODY, DeliveryHarness, refused
from tests.features.messaging.harness import APP, LIB


@pytest.fixture
def watchable(harness: DeliveryHarness) -> ResourceTable:
    specs = watchable_resources(harness.resources.specs(), harness.seeded.store, harness.identities.caller)
    return ResourceTable(specs)


INBOX = f"resource://inbox/RedStone?project={APP}"


@pytest.mark.parametrize(
    "uri",
    [
        INBOX,
        f"{INBOX}&urgent_only=true",
        f"resource://views/urgent-unread/RedStone?project={APP}",
        f"resource://views/ack-required/RedStone?project={APP}",
        f"resource://views/acks-stale/RedStone?project={APP}&ttl_seconds=5",
        f"resource://views/ack-overdue/RedStone?project={APP}",
    ],
)
async def test_inboxes_and_views_are_watched_by_their_agent(
    harness: DeliveryHarness, watchable: ResourceTable, uri: str
) -> None:
    watched = await watchable.read(uri, NOBODY)

    assert watched.key == WatchedKey(WatchedKind.MAILBOX, harness.seeded.red.id)


async def test_threads_are_watched_in_their_project_and_messages_by_who_is_proven_to_read(
    harness: DeliveryHarness, watchable: ResourceTable
) -> None:
    number = await harness.sent_id(thread_id="plan")

    thread = await watchable.read(f"resource://thread/plan?project={APP}", NOBODY)
    message = await watchable.read(f"resource://message/{number}", harness.proof(harness.seeded.red))
    anybodys = await watchable.read(f"resource://message/{number}", NOBODY)

    assert (thread.key, thread.project_id) == (WatchedKey(WatchedKind.THREAD, "plan"), harness.seeded.app.id)
    assert (message.key, message.reader) == (WatchedKey(WatchedKind.MESSAGE, number), harness.seeded.red.id)
    assert anybodys.reader is None


@pytest.mark.parametrize(
    "uri",
    [
        "resource://inbox/Nobody",
        "resource://inbox/BlueLake",
        f"resource://inbox/RedStone?project={APP}&limit=0",
        "resource://message/999",
        f"resource://thread/none?project={APP}",
        "resource://nowhere",
    ],
)
async def test_what_cannot_be_read_is_refused_in_the_same_words(
    harness: DeliveryHarness, watchable: ResourceTable, uri: str
) -> None:
    """BlueLake is an agent of two projects."""
    read = await refused(harness.resources.read(uri, NOBODY))
    watched = await refused(watchable.read(uri, NOBODY))

    assert (type(watched), watched.text, watched.data) == (type(read), read.text, read.data)


async def test_another_agents_inbox_is_refused_to_who_is_proven(
    harness: DeliveryHarness, watchable: ResourceTable
) -> None:
    error = await refused(watchable.read(INBOX, harness.proof(harness.seeded.blue)))

    assert error.code == "PERMISSION_DENIED"


async def test_other_resources_can_be_read_and_not_watched(watchable: ResourceTable) -> None:
    assert isinstance(await refused(watchable.read(f"resource://outbox/RedStone?project={APP}", NOBODY)), NotWatchable)


@pytest.mark.parametrize(
    ("credentials", "is_own"),
    [
        (NOBODY, False),
        (Credentials(via="mcp", said_agent=" redstone "), True),
        (Credentials(via="mcp", said_agent="RedStone", said_project=APP), True),
        (Credentials(via="mcp", said_agent="RedStone", said_project=LIB), False),
        (Credentials(via="mcp", said_agent="RedStone", said_project="/code/none"), False),
        (Credentials(via="mcp", said_agent="BlueLake", said_project=APP), False),
    ],
)
async def test_it_is_the_agents_own_at_its_connections_word(
    harness: DeliveryHarness, watchable: ResourceTable, credentials: Credentials, *, is_own: bool
) -> None:
    watched = await watchable.read(INBOX, credentials)

    assert watched.listener == (harness.seeded.red.id if is_own else None)


async def test_it_is_the_agents_own_by_its_token_whatever_the_connection_says(
    harness: DeliveryHarness, watchable: ResourceTable
) -> None:
    watched = await watchable.read(INBOX, harness.proof(harness.seeded.red))

    assert watched.listener == harness.seeded.red.id
