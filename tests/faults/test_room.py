"""A store that may not grow: what is refused, what goes on, in each part that it can grow in, and how that ends."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.guard.events import read_guard_event
from mcp_agent_mail.domain.importing.lines import pack
from mcp_agent_mail.domain.importing.records import SourceProject
from mcp_agent_mail.features.attachments.service import RETRY_AFTER_S
from mcp_agent_mail.store.engine.growth_limit import StoreTooLarge
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from tests.faults.disks import fill_disk, small_disk
from tests.faults.harness import BLUE, PROJECT, RED, WINDOW, Harness, harness
from tests.seeded_store import SetClock

MIB = 2**20
THIRD = "GreenHill"
LATE = "OldOak"
HERE = {"project_key": PROJECT}
MINE = {**HERE, "agent_name": BLUE}
NEWCOMER = {"program": "tests", "model": "none"}
LETTER = {**HERE, "sender_name": BLUE, "subject": "Plan", "body_md": "body"}

OLD_PROJECT = SourceProject(key="1", human_key="/code/old", slug=None, created_ts=Micros(0))

THE_CLAIM = "of the event before"
ADDS: dict[str, dict[str, Any]] = {
    "ensure_project": {"human_key": "/code/other"},
    "register_agent": {**HERE, **NEWCOMER, "name": "NewFox"},
    "create_agent_identity": {**HERE, **NEWCOMER},
    "create_join_code": HERE,
    "create_issued_token": {},
    "link_door_name": {"name": RED, "door": "postal"},
    "request_contact": {**HERE, "from_agent": RED, "to_agent": THIRD},
    "send_message": {**LETTER, "to": [RED]},
    "reply_message": {**HERE, "message_id": 1, "sender_name": RED, "body_md": "Yes"},
    "remind_acknowledgements": {**HERE, "min_age_seconds": 0},
    "file_reservation_paths": {**MINE, "paths": ["src/new/**"]},
    "acquire_build_slot": {**MINE, "slot": "another"},
    "summarize_recent": HERE,
    "ensure_product": {"name": "another"},
    "products_link": {"product_key": "storefront", "project_key": "/code/second"},
    "macro_start_session": {"human_key": PROJECT, **NEWCOMER, "agent_name": "NewFox"},
    "macro_prepare_thread": {**HERE, **NEWCOMER, "thread_id": "msg-1", "agent_name": "NewFox"},
    "macro_file_reservation_cycle": {**MINE, "paths": ["src/new/**"]},
    "macro_contact_handshake": {**HERE, "requester": RED, "target": THIRD},
    "import_records": {"system": "other", "store_id": "one", "records": pack([OLD_PROJECT]), "apply": True},
    "import_content": {
        "sha256": hashlib.sha256(b"content").hexdigest(),
        "offset": 0,
        "piece": base64.b64encode(b"content").decode(),
        "is_last": True,
    },
}
"""Calls that make the store grow, each of which would be done if it might."""

GOES_ON: dict[str, dict[str, Any]] = {
    "hook_event": {**HERE, "agent_name": RED, "session": "one", "event": "turn", "least": "any"},
    "hook_told": {**HERE, "agent_name": RED, "session": "one", "claim": THE_CLAIM},
    "mark_message_read": {**HERE, "agent_name": RED, "message_id": 1},
    "acknowledge_message": {**HERE, "agent_name": RED, "message_id": 1},
    "withdraw_message": {**HERE, "sender_name": BLUE, "message_id": 1},
    "heartbeat": {**MINE, "session": "one", "event": "start"},
    "set_status": {**MINE, "status": "busy"},
    "set_contact_policy": {**MINE, "policy": "open"},
    "respond_contact": {**HERE, "to_agent": BLUE, "from_agent": THIRD, "accept": True},
    "rename_window": {**HERE, "window_uuid": WINDOW, "new_display_name": "SlowOwl"},
    "expire_window": {**HERE, "window_uuid": WINDOW},
    "renew_file_reservations": MINE,
    "force_release_file_reservation": {**HERE, "agent_name": BLUE, "file_reservation_id": 2, "notify_previous": True},
    "release_file_reservations": MINE,
    "renew_build_slot": {**MINE, "slot": "build"},
    "release_build_slot": {**MINE, "slot": "build"},
    "purge_old_messages": {**HERE, "max_age_days": 1, "dry_run": False},
    "revoke_join_code": {**HERE, "join_code_id": 1},
    "revoke_issued_token": {"issued_token_id": 1},
    "unlink_door_name": {"name": BLUE, "door": "postal"},
    "reissue_token": {**HERE, "agent_name": RED},
    "deregister_agent": {**HERE, "agent_name": LATE},
    "unretire_agent": {**HERE, "agent_name": LATE},
    "archive_project": {"project_key": "/code/second"},
    "unarchive_project": {"project_key": "/code/second"},
}
"""Calls that change what is there, or give something back, in an order in which each can be done."""

ADDS_NOTHING_NEW: dict[str, dict[str, Any]] = {
    "ensure_project": {"human_key": PROJECT},
    "register_agent": {**HERE, **NEWCOMER, "name": THIRD},
    "send_message": {**LETTER, "to": [RED], "ack_required": True, "idempotency_key": "first"},
    "file_reservation_paths": {**MINE, "paths": ["src/**"]},
    "acquire_build_slot": {**MINE, "slot": "build"},
    "ensure_product": {"name": "storefront"},
    "products_link": {"product_key": "storefront", "project_key": PROJECT},
    "macro_start_session": {"human_key": PROJECT, **NEWCOMER, "agent_name": THIRD},
}
"""Calls of those that add, where all they ask for is there: an agent comes back, a send is repeated."""

BESIDE_THE_STORE = {
    "checkout_archive_month",
    "create_sign_in_link",
    "install_precommit_guard",
    "uninstall_precommit_guard",
}


@asynccontextmanager
async def furnished(root: Path, clock: Clock = system_clock, **given: str) -> AsyncIterator[Harness]:
    """A house that has one of everything; nothing works beside the calls."""
    async with harness(root, starts=False, clock=clock, given={"FACADES_PROJECT": PROJECT, **given}) as home:
        for name in (THIRD, LATE):
            await home.call_as_operator("register_agent", **HERE, **NEWCOMER, name=name)
        await home.call("ensure_project", human_key="/code/second")
        await home.send(ack_required=True, idempotency_key="first")
        await home.call("file_reservation_paths", **MINE, paths=["src/**"], ttl_seconds=9_000)
        await home.call("file_reservation_paths", **HERE, agent_name=LATE, paths=["docs/**"], ttl_seconds=9_000)
        await home.call("acquire_build_slot", **MINE, slot="build", ttl_seconds=9_000)
        await home.call("set_contact_policy", **HERE, agent_name=BLUE, policy="contacts_only")
        await home.call("request_contact", **HERE, from_agent=THIRD, to_agent=BLUE)
        await home.call("ensure_product", name="storefront")
        await home.call_as_operator("products_link", product_key="storefront", project_key=PROJECT)
        await home.call_as_operator("create_join_code", **HERE)
        await home.call_as_operator("create_issued_token")
        await home.call_as_operator("link_door_name", name=BLUE, door="postal")
        yield home


async def measure(home: Harness) -> None:
    """Until every file was seen."""
    worker = home.services.workers.store_size
    await worker.look()
    assert worker.figures().is_whole


async def outcome(home: Harness, tool: str, arguments: dict[str, Any]) -> str:
    if arguments.get("claim") == THE_CLAIM:
        with closing(open_reading(home.database)) as reading:
            ((claim,),) = reading.execute("SELECT DISTINCT claim FROM announcements").fetchall()
        arguments = {**arguments, "claim": claim}
    try:
        await home.call_as_operator(tool, **arguments)
    except AgentMailError as refusal:
        return refusal.code
    return "done"


async def outcomes(home: Harness, calls: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {tool: await outcome(home, tool, arguments) for tool, arguments in calls.items()}


def dump(home: Harness) -> list[str]:
    """Everything that the database holds, but the notes of activity."""
    with closing(open_reading(home.database)) as reading:
        return [line for line in reading.iterdump() if "fts" not in line]


async def test_what_adds_is_refused_and_adds_nothing_and_all_else_goes_on(tmp_path: Path) -> None:
    clock = SetClock()
    async with furnished(tmp_path / "store", clock, STORE_MAX_BYTES="1MiB") as home:
        clock.step(2_400)
        writing = {spec.name for spec in home.services.tools.specs() if not spec.read_only}
        ballast = home.root / "ballast"
        ballast.write_bytes(b"x" * 2 * MIB)
        await measure(home)
        before = dump(home)

        refused = await outcomes(home, ADDS)
        after = dump(home)
        replayed = await outcomes(home, ADDS_NOTHING_NEW)
        went_on = await outcomes(home, GOES_ON)
        ballast.unlink()

    assert refused == dict.fromkeys(ADDS, "QUOTA_EXCEEDED")
    assert after == before
    assert replayed == dict.fromkeys(ADDS_NOTHING_NEW, "done")
    assert went_on == dict.fromkeys(GOES_ON, "done")
    assert writing == ADDS.keys() | GOES_ON.keys() | BESIDE_THE_STORE, "a new tool adds to the store, or does not"


async def test_with_room_again_each_of_those_calls_is_done(tmp_path: Path) -> None:
    async with furnished(tmp_path / "store") as home:
        assert await outcomes(home, ADDS) == dict.fromkeys(ADDS, "done")


@pytest.mark.parametrize(
    "part",
    [
        "attachments/ab/content",
        "projects/code-app/.git/objects/pack/pack-1.pack",
        "signals/projects/x",
        "mail.sqlite3.before",
    ],
)
async def test_wherever_it_grows_a_full_disk_makes_senders_wait_and_lets_them_go_on(part: str, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=24 * 1024) as disk:
        async with furnished(disk / "store", STORE_MIN_FREE_BYTES="4MiB") as home:
            await measure(home)
            well = await home.health()
            large = home.root / part
            large.parent.mkdir(parents=True, exist_ok=True)
            large.write_bytes(b"x" * (disk_free(disk) - 3 * MIB))
            await measure(home)

            refusal = await home.refused_send("Refused")
            read = await home.call("acknowledge_message", **HERE, agent_name=RED, message_id=home.sent[0])
            inbox, full = await home.inbox(), await home.health()
            large.unlink()
            await measure(home)
            after = await home.send("After")

            assert well["status"] == "ok"
            assert (refusal.code, refusal.recoverable, refusal.data["retry_after_s"]) == ("UNAVAILABLE", True, 30)
            assert refusal.hint.startswith("Free some space on the disk of the store. Call again in 30 s.")
            assert read["acknowledged"]
            assert inbox == home.sent[:1]
            assert full["status"] == "degraded"
            assert full["store"]["last_error"] == refusal.text
            assert full["store"]["free_bytes"] < 4 * MIB
            assert await home.services.health.is_ready()
            assert await home.inbox() == [*inbox, after]
            assert (await home.health())["status"] == "ok"


async def test_between_the_limit_and_a_little_more_nothing_switches(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size_kib=24 * 1024) as disk:
        async with furnished(disk / "store", STORE_MIN_FREE_BYTES="4MiB") as home:
            ballast = fill_disk(disk)
            told: list[str] = []
            for free_kib in (0, 4_000, 4_096 + 60, 4_096 + 120, 4_096 + 60, 4_000):
                ballast.write_bytes(b"")
                ballast.write_bytes(b"x" * (disk_free(disk) - free_kib * 1024))
                await measure(home)
                told.append(await outcome(home, "file_reservation_paths", {**MINE, "paths": [f"new/{len(told)}"]}))

    assert told == ["UNAVAILABLE"] * 3 + ["done"] * 2 + ["UNAVAILABLE"]


async def test_what_adds_is_refused_before_the_disk_is_so_full_that_nothing_can_be_marked(tmp_path: Path) -> None:
    """The last of the disk is kept for what goes on: hundreds of marks fit where not one send is let in."""
    with small_disk(tmp_path / "disk", size_kib=24 * 1024) as disk:
        async with furnished(disk / "store", STORE_MIN_FREE_BYTES="4MiB") as home:
            (disk / "ballast").write_bytes(b"x" * (disk_free(disk) - 3 * MIB))
            await measure(home)

            for number in range(300):
                await home.call("set_status", **MINE, status="busy", note=f"{number}")
            refusal = await home.refused_send()

    assert refusal.code == "UNAVAILABLE"


def disk_free(disk: Path) -> int:
    return shutil.disk_usage(disk).free


async def test_without_room_nothing_that_a_send_brings_is_put_on_disk(tmp_path: Path) -> None:
    async with furnished(tmp_path / "store", STORE_MAX_BYTES="1MiB") as home:
        (home.root / "large").write_bytes(b"x" * 2 * MIB)
        await measure(home)

        refusal = await home.refused_send("With a note", attachment_paths=["data:text/plain,note"])

        assert refusal.code == "QUOTA_EXCEEDED"
        assert [path for path in (home.root / "attachments").rglob("*") if path.is_file()] == []


async def test_a_full_disk_of_attachments_refuses_what_brings_some_and_nothing_else(tmp_path: Path) -> None:
    with small_disk(tmp_path / "store" / "attachments", size_kib=512) as disk:
        async with furnished(tmp_path / "store") as home:
            brings = ["data:text/plain," + "note" * 2_000]
            ballast = fill_disk(disk)
            refusal = await home.refused_send("With a note", attachment_paths=brings)
            plain = await home.send("Plain")
            ballast.unlink()
            after = await home.send("With a note", attachment_paths=brings)

            assert (refusal.code, refusal.recoverable) == ("UNAVAILABLE", True)
            assert "No space left on device" in refusal.message
            assert refusal.data["retry_after_s"] == RETRY_AFTER_S
            assert await home.inbox() == [home.sent[0], plain, after]


async def test_what_adds_is_refused_by_whatever_way_it_comes(tmp_path: Path) -> None:
    """What no call of the table does by itself: another window, a contact unasked, the guard's events, notices."""
    clock = SetClock()
    async with furnished(tmp_path / "store", clock, STORE_MAX_BYTES="1MiB", ACK_TTL_SECONDS="60") as home:
        clock.step(61)
        (home.root / "large").write_bytes(b"x" * 2 * MIB)
        await measure(home)
        other = Credentials(via="rpc", window_id="5d1f2c8e-0000-4f0e-9d55-5d2f6f1f6b02")
        overdue = home.services.workers.overdue
        assert overdue is not None
        unasked = {**HERE, "to_agent": BLUE, "from_agent": LATE, "accept": True}
        event = {
            "event_key": "0" * 32,
            "hook": "pre-commit",
            "action": "bypassed",
            "ts": "2026-11-21T10:00:00Z",
            "project": PROJECT,
            "repository": "/code/app",
            "detail": {},
        }

        ways: dict[str, Awaitable[object]] = {
            "window": home.services.tools.run("register_agent", {**HERE, **NEWCOMER, "name": THIRD}, other),
            "contact": home.call("respond_contact", **unasked),
            "guard": home.services.guarding.store_events([read_guard_event(event, clock())]),
            "overdue": overdue.look(),
        }
        for way in ways.values():
            with pytest.raises(StoreTooLarge):
                await way

        denied = await home.call("respond_contact", **{**unasked, "accept": False})
        assert denied
