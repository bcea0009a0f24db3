"""Releasing another's reservation: only with evidence that it was left, which the answer and the archive hold."""

from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.core.clock import SECOND, Clock, Micros, iso
from mcp_agent_mail.core.errors import NotFound, PermissionDenied, suggest_call
from mcp_agent_mail.core.escaping import as_code
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import Missing, WorkspaceActivity, stale_from
from mcp_agent_mail.features.identity.actor import require_actor
from mcp_agent_mail.features.identity.system_mail import post_system_mail
from mcp_agent_mail.features.projects.lookup import require_writable
from mcp_agent_mail.features.reservations.notices import forced_notice
from mcp_agent_mail.features.reservations.staleness import Assessment, Staleness, show_evidence
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.lease_events import end_leases
from mcp_agent_mail.store.transaction import Tx, View


class UnknownReservation(NotFound):
    """No file reservation of the project has this id."""


class NotAbandoned(PermissionDenied):
    """The evidence does not show that the holder left the reservation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceRequest:
    """`lease_id` is the file reservation's."""

    project_key: str
    agent_name: str
    lease_id: LeaseId
    notify_previous: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forced:
    """`is_released` is False when the reservation had ended before, which changes nothing."""

    project: Project
    assessment: Assessment
    released_ts: Micros
    is_released: bool
    is_notified: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    project: Project
    agent: Agent
    lease: Lease


class ForceService:
    """`note_activity` hears of the agent that asks."""

    def __init__(
        self, store: Store, staleness: Staleness, *, note_activity: Callable[[Agent], None], clock: Clock
    ) -> None:
        self._store = store
        self._staleness = staleness
        self._note_activity = note_activity
        self._clock = clock

    async def release(self, caller: Caller, request: ForceRequest) -> Forced:
        """Release it if it was left. Raises NotAbandoned with what is missing; a repeat changes nothing."""
        case = await self._store.read(lambda view: _require_case(view, caller, request))
        if not caller.is_operator:
            self._note_activity(case.agent)
        now = self._clock()
        if case.lease.is_live(now):
            seen = await self._staleness.look(case.project, case.lease, now, anew=True)
            return await self._store.write(lambda tx: self._force(tx, caller, request, seen))
        return await self._store.read(lambda view: self._ended_before(view, case))

    def _force(self, tx: Tx, caller: Caller, request: ForceRequest, seen: WorkspaceActivity) -> Forced:
        case = _require_case(tx, caller, request)
        now = tx.now
        if not case.lease.is_live(now):
            return self._ended_before(tx, case)
        (found,) = self._staleness.assess(tx, [case.lease], {case.lease.id: seen})
        holder = tx.agents.find(case.lease.agent_id)
        assert holder is not None, case
        if not found.is_stale or not self._staleness.is_idle(holder, now):
            # A person is never idle.
            may_be = holder.kind is AgentKind.AGENT
            stale_ts = stale_from(found.evidence, self._staleness.rules, now) if may_be else None
            raise _not_abandoned(found, case, stale_ts, now)
        about = {**show_evidence(found), "forced_by": case.agent.name, "note": request.note}
        ended = end_leases(tx, [case.lease], EndedBy.FORCE, acting=case.agent, evidence={case.lease.id: about})
        assert len(ended) == 1, case
        is_notified = request.notify_previous and not holder.is_retired
        if is_notified:
            post_system_mail(tx, case.project, [holder], forced_notice(found, case.agent, request.note))
        return Forced(
            project=case.project,
            assessment=Assessment(lease=ended[0], evidence=found.evidence, judgement=found.judgement),
            released_ts=now,
            is_released=True,
            is_notified=is_notified,
        )

    def _ended_before(self, view: View, case: _Case) -> Forced:
        (found,) = self._staleness.assess(view, [case.lease])
        lease = case.lease
        return Forced(
            project=case.project,
            assessment=found,
            released_ts=lease.expires_ts if lease.released_ts is None else lease.released_ts,
            is_released=False,
            is_notified=False,
        )


def _require_case(view: View, caller: Caller, request: ForceRequest) -> _Case:
    actor = require_actor(view, caller, request.project_key, request.agent_name)
    project = require_writable(actor.project)
    lease = view.leases.find(request.lease_id)
    if lease is None or lease.project_id != project.id or lease.kind is not LeaseKind.FILE:
        raise UnknownReservation(
            f"{project.human_key} has no file reservation {request.lease_id}.",
            hint=f"resource://file_reservations/{project.slug} lists them with their ids.",
            data={"parameter": "file_reservation_id"},
        )
    return _Case(project=project, agent=actor.agent, lease=lease)


_WORDS = {
    Missing.AGENT_ACTIVE: "its holder called lately",
    Missing.MAIL_RECENT: "its holder sent or read mail lately",
    Missing.FILES_RECENT: "files under it were written lately",
    Missing.FILES_UNKNOWN: "its files could not all be looked at in time",
    Missing.GIT_RECENT: "files under it were committed lately",
    Missing.GIT_UNKNOWN: "Git did not say in time when its files were last committed",
}


def _not_abandoned(found: Assessment, case: _Case, stale_ts: Micros | None, now: Micros) -> NotAbandoned:
    lease = case.lease
    missing = found.judgement.missing or (Missing.AGENT_ACTIVE,)
    data: dict[str, Json] = {
        "file_reservation_id": lease.id,
        "missing": [one.value for one in missing],
        "expires_ts": iso(lease.expires_ts),
        "holder": lease.agent,
        **show_evidence(found),
    }
    if lease.agent_id == case.agent.id:
        hint = "It is your own: give it back by its id."
        call = suggest_call("release_file_reservations", _by(case, "agent_name", file_reservation_ids=[lease.id]))
    else:
        hint, data["retry_after_s"] = _when_again(lease, stale_ts, now)
        call = suggest_call("send_message", _by(case, "sender_name", to=[lease.agent], **_question(lease)))
    return NotAbandoned(
        f"{lease.agent} has not left reservation {lease.id}: {'; '.join(_WORDS[one] for one in missing)}.",
        hint=hint,
        data={**data, "suggested_tool_calls": [call]},
    )


def _when_again(lease: Lease, stale_ts: Micros | None, now: Micros) -> tuple[str, int]:
    """The hint, and the seconds that it names."""
    at = lease.expires_ts if stale_ts is None else min(stale_ts, lease.expires_ts)
    after_s = max(1, -((now - at) // SECOND))
    then = "when it ends, unless renewed" if at == lease.expires_ts else "if nothing happens there until then"
    return f"Write to {lease.agent}, work elsewhere, or try again in {after_s} s, {then}.", after_s


def _question(lease: Lease) -> dict[str, Json]:
    return {
        "subject": f"Do you still need {lease.path_pattern}?"[:500],
        "body_md": f"You hold {as_code(lease.path_pattern)} (reservation {lease.id}). Please release it when you can.",
    }


def _by(case: _Case, name: str, **arguments: Json) -> Json:
    return {"project_key": case.project.human_key, name: case.agent.name, **arguments}
