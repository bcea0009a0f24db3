"""One project takes in another: rows in one unit of work, then the archives. Offline: the caller holds the store lock.

Everything that is pending goes into Git first, so that the files which change names are known, and the target's archive
gets a newest commit above all of the source's, so that joined histories are never taken for unmarked events. From the
unit on, one event in the outbox stands for what is left to do: whoever drains it goes on, after a crash too.
"""

from __future__ import annotations

from typing import Protocol

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.adoption import AdoptionPlan, AdoptionRefused, require_clear, require_two
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.project_identity import derived_uid, slug_alias, uid_tie
from mcp_agent_mail.domain.projects import AliasKind, Project
from mcp_agent_mail.features.archiving.adopt import adoption_snapshot
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings, Failed
from mcp_agent_mail.features.projects.ensure import record_event
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

TIMEOUT_S = 3_600.0


class Draining(Protocol):
    """Brings all that is pending into Git within `timeout_s` seconds, and gives what could not be, with why."""

    async def __call__(self, store: Store, settings: ArchiverSettings, *, timeout_s: float) -> list[Failed]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """`plan` is None when it had been adopted before; `failed`: what is not in Git yet, and why."""

    target: Project
    plan: AdoptionPlan | None
    failed: list[Failed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    source: Project
    target: Project
    plan: AdoptionPlan


def plan_adoption(view: View, source_key: str, target_key: str) -> Planned:
    """What an adoption would move. Raises AdoptionRefused, naming what clashes."""
    source, target = require_project(view, source_key), require_writable(require_project(view, target_key))
    require_two(source, target)
    plan = view.adoption.plan(source.id, target.id, view.now)
    require_clear(plan, source, target)
    return Planned(source=source, target=target, plan=plan)


async def adopt(
    store: Store, settings: ArchiverSettings, source_key: str, target_key: str, *, drain: Draining = drain_in_process
) -> Adopted:
    """Make the source part of the target, then bring that into Git. Safe to repeat: what a crash left is finished
    first. Raises AdoptionRefused.
    """
    failed = await drain(store, settings, timeout_s=TIMEOUT_S)
    done = await store.read(lambda view: _adopted_before(view, source_key, target_key))
    if done is not None:
        return Adopted(target=done, plan=None, failed=failed)
    await store.write(lambda tx: _prepare(tx, source_key, target_key))
    await drain(store, settings, timeout_s=TIMEOUT_S)
    planned = await store.write(lambda tx: _adopt(tx, source_key, target_key))
    failed = await drain(store, settings, timeout_s=TIMEOUT_S)
    return Adopted(target=planned.target, plan=planned.plan, failed=failed)


def _adopted_before(view: View, source_key: str, target_key: str) -> Project | None:
    source, target = require_project(view, source_key), require_project(view, target_key)
    if source.id != target.id:
        return None
    former = {alias.name for alias in view.aliases.lasting(target.id) if alias.kind is AliasKind.FORMER}
    wanted = source_key.strip()
    return target if former & {wanted, slug_alias(wanted.lower()), uid_tie(wanted.lower())} else None


def _prepare(tx: Tx, source_key: str, target_key: str) -> None:
    planned = plan_adoption(tx, source_key, target_key)
    record_event(tx, planned.target, None)


def _adopt(tx: Tx, source_key: str, target_key: str) -> Planned:
    now = tx.now
    planned = plan_adoption(tx, source_key, target_key)
    source, target = planned.source, planned.target
    for project_id in (source.id, target.id, *planned.plan.neighbours):
        _require_in_git(tx, project_id)
    _require_newest(tx, source, target)
    tx.aliases.retire(source.id)
    tx.adoption.move(source.id, target.id)
    uid = derived_uid(tx.meta.store_id(), source.id)
    for alias in (source.human_key, slug_alias(source.slug), uid_tie(uid)):
        tx.aliases.add(target.id, alias, AliasKind.FORMER, now)
    tx.backfill.drop_aliases(target.id)  # All files are rendered anew.
    _queue(tx, target.id, source.slug)
    for project_id in planned.plan.neighbours:
        _queue(tx, project_id, None)
    return planned


def _queue(tx: Tx, project_id: ProjectId, source: str | None) -> None:
    event = NewEvent(
        project_id=project_id,
        kind=EventKind.ADOPTION,
        agent_id=None,
        message_id=None,
        snapshot=adoption_snapshot(source),
    )
    tx.outbox.add(event, tx.now)


def _require_in_git(tx: Tx, project_id: ProjectId) -> None:
    if tx.outbox.has_pending(project_id):
        project = tx.projects.find(project_id)
        assert project is not None, project_id
        raise AdoptionRefused(
            f"The archive of {project.slug} is behind: its files would keep the old names.",
            hint="Nothing was moved. `am doctor check` says what is wrong with it; then run this again.",
            data={"project": project.slug},
        )


def _require_newest(tx: Tx, source: Project, target: Project) -> None:
    of_source, of_target = tx.outbox.last_commit(source.id), tx.outbox.last_commit(target.id)
    assert of_target is not None, target
    assert of_source is None or of_source.last_seq < of_target.last_seq, (of_source, of_target)
