from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, replace

import pytest

from mcp_agent_mail.archive.reading.browser import ShownFile, ShownFolder
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError, PermissionDenied
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.readership import ForeignProject
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.history import service as service_module
from mcp_agent_mail.features.history.past_inboxes import StorePlaces
from mcp_agent_mail.features.history.service import (
    MOST_DAYS,
    HistoryService,
    NotArchivedYet,
    NotOpenToAll,
    RawTooLarge,
)
from mcp_agent_mail.features.messaging.visibility import UnknownMessage
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.past_mail import DAY
from tests.archive_harness import git
from tests.features.history.past_store import APP, HOUR, LIB, TEXT, PastStore
from tests.seeded_store import SetClock

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)
ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
UNPROVEN = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    past: PastStore
    store: Store
    clock: SetClock
    service: HistoryService
    app: Project
    lib: Project

    def proven(self, name: str, project: str = APP) -> Caller:
        with self.past.view() as view:
            agent, home = self.past.agent(view, name, project)
        return Caller(
            kind=CallerKind.AGENT, auth=AgentAuth.STRICT, agent_id=agent.id, agent_name=name, project_id=home.id
        )

    def id_of(self, name: str) -> MessageId:
        return MessageId(self.past.ids[name])


@pytest.fixture
async def opened(own_past: PastStore) -> AsyncIterator[Opened]:
    clock = SetClock(now=Micros(own_past.at["purged"] + HOUR))
    with own_past.view() as view:
        (_, app), (_, lib) = own_past.agent(view, "BlueLake"), own_past.agent(view, "BlueLake", LIB)
    async with Store(own_past.database, clock=clock) as store:
        service = HistoryService(store, places=StorePlaces(storage_root=own_past.root), clock=clock)
        yield Opened(past=own_past, store=store, clock=clock, service=service, app=app, lib=lib)
        for looks in service.all_looks():
            looks.close()


async def refused(kind: type[AgentMailError], *looks: Awaitable[object]) -> None:
    for look in looks:
        with pytest.raises(kind):
            await look


async def test_commits_are_told_newest_first_and_lead_on(opened: Opened) -> None:
    archive = opened.past.archive_of(APP)
    everything = git(archive, "log", "--first-parent", "--format=%H").split()

    first = await opened.service.commits(ANYBODY, opened.app, after=None, limit=2)
    rest = await opened.service.commits(ANYBODY, opened.app, after=first[-1].hexsha, limit=999)

    assert [one.hexsha for one in (*first, *rest)] == everything
    assert len(first) == 2


async def test_another_project_is_not_for_an_agent_to_look_back_at(opened: Opened) -> None:
    service, foreign = opened.service, opened.proven("GreenField", LIB)
    for caller, kind in ((foreign, ForeignProject), (UNPROVEN, AgentMailError)):
        await refused(
            kind,
            service.commits(caller, opened.app, after=None, limit=9),
            service.days(caller, opened.app),
            service.pairs(caller, opened.app),
            service.carriers(caller, opened.app, before=None, limit=9),
        )
    assert await service.commits(foreign, opened.lib, after=None, limit=9)


async def test_files_and_what_changed_in_them_are_the_operators(opened: Opened) -> None:
    (newest,) = await opened.service.commits(OPERATOR, opened.app, after=None, limit=1)

    seen = await opened.service.change(OPERATOR, opened.app, newest.hexsha)
    told = await opened.service.change(opened.proven("RedStone"), opened.app, newest.hexsha)
    root = await opened.service.look(OPERATOR, opened.app, "")
    file = await opened.service.look(OPERATOR, opened.app, "archive.json")

    assert (bool(seen.files), "src/late.py" in seen.diff) == (True, True)
    assert (told.entry, told.files, told.diff) == (seen.entry, (), "")
    assert isinstance(root, ShownFolder)
    assert "messages" in [one.name for one in root.listed]
    assert isinstance(file, ShownFile)
    for caller in (ANYBODY, opened.proven("BlueLake")):
        await refused(PermissionDenied, opened.service.look(caller, opened.app, ""))


async def test_days_are_the_last_so_many_and_count_what_was_sent_on_them(opened: Opened) -> None:
    days = await opened.service.days(ANYBODY, opened.app)

    today = (opened.past.at["purged"] + HOUR) // DAY
    assert (len(days.messages), len(days.commits)) == (MOST_DAYS, MOST_DAYS)
    assert days.first_day == today - MOST_DAYS + 1
    assert days.messages[opened.past.at["purged"] // DAY - days.first_day] == 1
    assert days.messages[opened.past.at["sent"] // DAY - days.first_day] > 1
    assert sum(1 for count in days.messages if count) == 2


async def test_commits_are_counted_on_the_day_they_were_made(opened: Opened) -> None:
    made = await opened.service.commits(OPERATOR, opened.app, after=None, limit=999)
    opened.clock.now = made[0].authored_ts  # Git has its own clock.

    days = await opened.service.days(ANYBODY, opened.app)

    assert sum(days.commits) == len(made)
    assert days.commits[-1] == sum(1 for one in made if one.authored_ts // DAY == made[0].authored_ts // DAY)


async def test_who_wrote_to_whom_leaves_blind_and_refused_copies_out(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = await opened.service.pairs(OPERATOR, opened.app)
    monkeypatch.setattr(service_module, "MOST_PAIRS", 1)

    had = {(one.sender, one.recipient): one.messages for one in pairs}
    assert had["BlueLake", "RedStone"] == 3
    # The mail by which each was asked is withdrawn since the operator answered; what was held for GrayFox was refused.
    assert had["BlueLake", "ShyOwl"] == 1
    assert ("BlueLake", "GrayFox") not in had
    assert ("BlueLake", "Human") not in had
    assert await opened.service.pairs(OPERATOR, opened.app) == pairs[:1]
    assert pairs[0].messages == max(one.messages for one in pairs)


async def test_mail_with_attachments_is_told_newest_first_and_leads_on(opened: Opened) -> None:
    late, plan = opened.id_of("late"), opened.id_of("plan")

    found = await opened.service.carriers(ANYBODY, opened.app, before=None, limit=9)
    older = await opened.service.carriers(ANYBODY, opened.app, before=late, limit=9)

    assert found[0].id == late
    assert [one.id for one in older] == [one.id for one in found[1:]]
    assert all(one.id in (late, plan) for one in found)
    assert await opened.service.carriers(ANYBODY, opened.lib, before=None, limit=9) == []


async def test_an_inbox_at_a_past_time_is_for_those_who_may_open_it(opened: Opened) -> None:
    service, at = opened.service, opened.past.at

    async def seen(caller: Caller, moment: str, limit: int = 9) -> list[MessageId]:
        past = await service.past_inbox(caller, opened.app, "RedStone", at=at[moment], limit=limit)
        return [one.head.id for one in past.entries]

    sent = await seen(OPERATOR, "sent")
    assert await seen(OPERATOR, "begun") == []
    assert sent == [opened.id_of("held"), opened.id_of("plan")]
    assert await seen(opened.proven("RedStone"), "sent") == sent
    assert await seen(OPERATOR, "sent", limit=1) == sent[:1]
    for caller in (opened.proven("BlueLake"), UNPROVEN):
        await refused(AgentMailError, seen(caller, "sent"))


async def write_on(opened: Opened, *, held_code: str | None) -> MessageId:
    """BlueLake to RedStone, and to ShyOwl, whose copy may be held; Git has yet to get it."""
    with opened.past.view() as view:
        blue, red, owl = (opened.past.agent(view, name)[0] for name in ("BlueLake", "RedStone", "ShyOwl"))
    new = NewMessage(
        sender=blue,
        project=opened.app,
        thread_id=None,
        topic=None,
        subject="Plan",
        body_md=TEXT,
        importance=Importance.NORMAL,
        ack_required=False,
        reply_to=None,
    )
    copies = [NewRecipient(agent=one, project=opened.app, kind=RecipientKind.TO) for one in (red, owl)]
    copies[1] = replace(copies[1], held_code=held_code)
    message, _ = await opened.store.write(lambda tx: tx.messages.add(new, copies, tx.now))
    return message.id


async def test_the_raw_file_of_a_message_is_read_within_a_bound(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = opened.id_of("late")

    raw = await opened.service.raw_message(ANYBODY, opened.app, late)

    assert raw.startswith(b"---json\n")
    assert b"Later" in raw
    monkeypatch.setattr(service_module, "MOST_RAW_BYTES", len(raw))
    assert await opened.service.raw_message(ANYBODY, opened.app, late) == raw
    monkeypatch.setattr(service_module, "MOST_RAW_BYTES", len(raw) - 1)
    await refused(RawTooLarge, opened.service.raw_message(OPERATOR, opened.app, late))


async def test_a_raw_file_that_tells_of_held_copies_is_the_operators(opened: Opened) -> None:
    held = await write_on(opened, held_code="CONTACT_REQUIRED")
    whole = await write_on(opened, held_code=None)
    service = opened.service

    for caller in (ANYBODY, opened.proven("RedStone")):
        await refused(NotOpenToAll, service.raw_message(caller, opened.app, held))
        await refused(NotArchivedYet, service.raw_message(caller, opened.app, whole))
        await refused(UnknownMessage, service.raw_message(caller, opened.app, opened.id_of("refused")))
    await refused(NotArchivedYet, service.raw_message(OPERATOR, opened.app, held))
    assert b"GrayFox" in await service.raw_message(OPERATOR, opened.app, opened.id_of("refused"))
    await refused(UnknownMessage, service.raw_message(OPERATOR, opened.app, MessageId(999)))
