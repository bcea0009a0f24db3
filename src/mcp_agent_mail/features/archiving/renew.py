"""Writes an archive that was lost again from the database: every event is queued anew, then drained.

What an older copy in its place still holds is found there and marked, not written twice. Where something earlier is
missing below its newest commit, that commit's number proves nothing: everything is written once more, on top. The
files come out the same; the commits are new ones, and of profiles and leases the newest state alone is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mcp_agent_mail.archive.contents import contents_of_branch
from mcp_agent_mail.archive.ownership import ArchiveBehind, OutboxPosition, require_fit
from mcp_agent_mail.archive.reading.faults import ArchiveDamaged, damage_of
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.ids import MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.attachments import FREED
from mcp_agent_mail.domain.archive_format.contacts import contact_snapshot
from mcp_agent_mail.domain.archive_format.imports import import_snapshot
from mcp_agent_mail.domain.archive_format.layout import (
    Snapshot,
    mail_snapshot,
    profile_snapshot,
    project_snapshot,
    receipt_snapshot,
)
from mcp_agent_mail.domain.archive_format.leases import FOLDERS, KIND_OF_EVENT, lease_snapshot, stand_in
from mcp_agent_mail.domain.archive_format.overdue_notices import overdue_snapshot
from mcp_agent_mail.domain.archive_format.products import product_snapshot
from mcp_agent_mail.domain.attachments import StoredContent
from mcp_agent_mail.domain.events import ArchiveCommit, DoneEvent, EventKind, NewEvent
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.messages import Receipt, ReceiptStep
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.adopt import adoption_snapshot
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings, Failed, archive_path
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.doors.profiles import record_profile
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.transaction import Tx

TIMEOUT_S = 3_600.0


class NothingToRenew(Conflict):
    """The archive holds what the database has seen in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedArchive:
    """`failed`: why some of the `events` could not be written even now; they stay queued."""

    events: int
    failed: list[Failed]


async def renew_archive(
    store: Store, settings: ArchiverSettings, project: Project, *, progress: Progress | None = None
) -> RenewedArchive:
    """The caller holds the store lock; `progress` counts events. Raises NothingToRenew, ArchiveRefused for a
    repository that is not ours, ArchiveDamaged for one on top of which nothing is to be written.
    """
    repository = ArchiveRepository(archive_path(Path(settings.storage_root), project.slug), only_git=True)
    if problem := damage_of(repository.path):
        raise ArchiveDamaged(repository.path, problem, has_database=True)
    store_id, claim = await store.read(lambda view: (view.meta.store_id(), claim_of(view.outbox, project.id)))
    is_behind = False
    try:
        require_fit(repository, store_id, claim)
    except ArchiveBehind:
        is_behind = True
    newest = _newest_above_a_gap(repository, await store.read(lambda view: view.outbox.commits(project.id)), project)
    if not is_behind and newest is None:
        raise NothingToRenew(
            f"{repository.path} holds every commit that the database has seen in it: there is nothing to renew.",
            hint="`am doctor verify` compares the two byte for byte.",
        )
    carried = contents_of_branch(repository)
    events = await store.write(lambda tx: _queue_anew(tx, project, newest) + _queue_removals(tx, project, carried))
    failed = await drain_in_process(store, settings, timeout_s=TIMEOUT_S, progress=progress)
    return RenewedArchive(events=events, failed=failed)


def _queue_removals(tx: Tx, project: Project, there: Iterable[StoredContent]) -> int:
    """An older copy has what was freed since; no event tells of that any more."""
    freed = [content.path for content in there if not tx.attachments.is_kept(project.id, content)]
    if not freed:
        return 0
    event = NewEvent(
        project_id=project.id,
        kind=EventKind.PROJECT,
        agent_id=None,
        message_id=None,
        snapshot=project_snapshot(project, tx.aliases.archived(project.id)) | {FREED: freed},
    )
    tx.outbox.add(event, tx.now)
    return 1


def _newest_above_a_gap(
    repository: ArchiveRepository, seen: Sequence[ArchiveCommit], project: Project
) -> ArchiveCommit | None:
    """The branch's newest commit of ours, when one that was below it is not there any more; None when all are."""
    if not repository.exists() or repository.tip() is None:
        return None
    held = list(repository.sealed())
    hexshas = {commit.hexsha for commit in held}
    if not held or all(commit.hexsha in hexshas or commit.last_seq > held[0].last_seq for commit in seen):
        return None
    return ArchiveCommit(
        project_id=project.id,
        hexsha=held[0].hexsha,
        summary=held[0].subject,
        authored_ts=held[0].committed_ts,
        last_seq=held[0].last_seq,
    )


def claim_of(outbox: Outbox, project_id: ProjectId) -> OutboxPosition:
    """What the database says of the project's archive: up to which event it goes, and the newest number given out."""
    last = outbox.last_commit(project_id)
    highest = outbox.highest_seq()
    return (
        OutboxPosition(highest_seq=highest)
        if last is None
        else OutboxPosition(highest_seq=highest, archived_seq=last.last_seq)
    )


def _queue_anew(tx: Tx, project: Project, newest: ArchiveCommit | None = None) -> int:
    """`newest`: below it something is missing, so what is queued gets numbers that it does not claim to hold."""
    human = tx.agents.find_by_name(project.id, HUMAN)
    assert human is not None, "Human is in every project"
    count = tx.outbox.reopen(project.id, lambda done: _snapshot(tx, project, human, done))
    if newest is not None:
        tx.outbox.renumber(project.id)
        tx.outbox.mark(newest)
    return count + _queue_newest(tx, project)


def reopen_some(tx: Tx, project: Project, after: OutboxSeq, limit: int) -> OutboxSeq | None:
    """Queue the oldest done events above `after` again; the newest of them, None when there was none. Until the last of
    them is queued and `finish_renewal` is done, the archive counts as lost, and nothing is written there.
    """
    human = tx.agents.find_by_name(project.id, HUMAN)
    assert human is not None, "Human is in every project"
    some = tx.outbox.reopen_some(project.id, lambda done: _snapshot(tx, project, human, done), after=after, limit=limit)
    return some[-1] if some else None


def finish_renewal(tx: Tx, project: Project) -> None:
    """All that was done is queued again: the archive may be begun anew."""
    tx.outbox.forget_commits(project.id)
    _queue_newest(tx, project)


def _queue_newest(tx: Tx, project: Project) -> int:
    """What events alone cannot tell any more."""
    count = 0
    for agent in tx.agents.each(project.id):
        record_profile(tx, agent, None)
        count += 1
    of_kinds: list[tuple[EventKind, Iterable[Snapshot]]] = [
        (EventKind.CONTACT, (contact_snapshot(one, project.id, None) for one in tx.contacts.each_of(project.id))),
        (EventKind.PRODUCT, (product_snapshot(one, None) for one in tx.products.links_of(project.id))),
        (EventKind.IMPORT, (import_snapshot(one) for one in tx.imported.each_of(project.id))),
        *(
            (KIND_OF_EVENT[kind], (lease_snapshot(one, project) for one in tx.leases.each(project.id, kind)))
            for kind in LeaseKind
        ),
    ]
    return count + sum(_queue(tx, project, kind, snapshots) for kind, snapshots in of_kinds)


def _queue(tx: Tx, project: Project, kind: EventKind, snapshots: Iterable[Snapshot]) -> int:
    """Who did it is not known any more."""
    count = 0
    for snapshot in snapshots:
        event = NewEvent(project_id=project.id, kind=kind, agent_id=None, message_id=None, snapshot=snapshot)
        tx.outbox.add(event, tx.now)
        count += 1
    return count


def _snapshot(tx: Tx, project: Project, human: Agent, done: DoneEvent) -> Snapshot:
    if done.kind is EventKind.ADOPTION:
        return adoption_snapshot(None)
    if done.kind is EventKind.PROJECT:
        return project_snapshot(project, tx.aliases.archived(project.id))
    if done.kind is EventKind.PROFILE:
        # Whose it was is not kept. Each agent's newest profile follows as an event of its own.
        return profile_snapshot(human)
    if done.message_id is None:
        return stand_in(_one_of_its_kind(tx, project, done))
    return _snapshot_of_mail(tx, project, done, done.message_id)


def _snapshot_of_mail(tx: Tx, project: Project, done: DoneEvent, message_id: MessageId) -> Snapshot:
    if done.kind is EventKind.OVERDUE:
        noted = tx.overdue.find_noted(message_id)
        assert noted is not None, done
        return overdue_snapshot(noted)
    recipients = tx.messages.recipients(message_id)
    if done.kind is EventKind.MAIL:
        message = tx.messages.find(message_id)
        assert message is not None, done
        return mail_snapshot(message, recipients, project.id)
    step = ReceiptStep(done.step or "")
    recipient = next(one for one in recipients if one.agent_id == done.agent_id)
    at = recipient.read_ts if step is ReceiptStep.READ else recipient.ack_ts
    assert at is not None, done
    receipt = Receipt(
        message_id=message_id,
        agent_id=recipient.agent_id,
        agent=recipient.name,
        step=step,
        at=at,
        is_blind=done.is_blind,
    )
    return receipt_snapshot(receipt)


def _one_of_its_kind(tx: Tx, project: Project, done: DoneEvent) -> Snapshot:
    """The newest state of each follows as an event of its own."""
    if done.kind is EventKind.CONTACT:
        contact = tx.contacts.oldest_of(project.id)
        assert contact is not None, done
        return contact_snapshot(contact, project.id, None)
    if done.kind is EventKind.PRODUCT:
        return product_snapshot(next(iter(tx.products.links_of(project.id))), None)
    if done.kind is EventKind.IMPORT:
        return import_snapshot(next(iter(tx.imported.each_of(project.id))))
    assert done.kind in FOLDERS, done
    kind = next(kind for kind, of_event in KIND_OF_EVENT.items() if of_event is done.kind)
    return lease_snapshot(tx.leases.list_(project.id, kind, limit=1)[0], project)
