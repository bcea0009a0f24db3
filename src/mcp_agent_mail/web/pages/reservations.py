"""The file reservations of a project, and one of them with what is known of its holder's work, to release it by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.errors import AgentMailError, Conflict, NotFound, PermissionDenied, listed
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.domain.identity.names import HUMAN
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import overlap
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import Patterns, conflicts_among
from mcp_agent_mail.features.reservations.staleness import Assessment
from mcp_agent_mail.web.addresses import project_url, with_query
from mcp_agent_mail.web.context import PageContext
from mcp_agent_mail.web.pages.page_numbers import page_number
from mcp_agent_mail.web.refusals import for_people, status_of
from mcp_agent_mail.web.request import PageAnswer, redirect
from mcp_agent_mail.web.views.reservations import lease_view, path_tree, releasable_from

PAGE_SIZE = 100
WAITING_SHOWN = 50
COMPARED_STEPS = 40_000
"""Of one page's pairs: some 30 ms, beside the event loop."""
MAX_NOTE = 500
HOLDERS_SHOWN = 5
LOOK_WITHIN_S = 2.0
"""So long the page of one waits for the disk."""


class NoReservation(NotFound):
    """The project has no file reservation of this number."""


class EndedAlready(Conflict):
    """It ended after the page with the form was shown: there was nothing to release, and nobody to tell."""


async def reservations(page: PageContext) -> PageAnswer:
    """Live ones, oldest first; `?ended=1` all that there ever were."""
    project = await page.services.pages.oversight.project(page.keys["project"])
    with_ended = page.request.asked("ended") == "1"
    after = page_number(page.request.asked("after")) or 0
    service = page.services.leases.reservations
    found = await service.list_(
        page.caller, project.human_key, active_only=not with_ended, limit=PAGE_SIZE + 1, after_id=after
    )
    shown = found[:PAGE_SIZE]
    against = await _against([one.lease for one in shown if one.lease.is_live(page.now)])
    rows = [lease_view(one, page.now, (against or {}).get(one.lease.id, ())) for one in shown]
    own = project_url(project.slug, "file_reservations")
    ended = "1" if with_ended else None
    model = {
        "here": project.slug,
        "human_key": project.human_key,
        "rows": rows,
        "tree": path_tree(row for row in rows if row.is_live),
        "waiting": await service.waiting(page.caller, project.human_key, WAITING_SHOWN),
        "with_ended": with_ended,
        "is_compared": against is not None,
        "conflicts": sum(bool(row.against) for row in rows),
        "released": page_number(page.request.asked("released")),
        "is_told": page.request.asked("told") != "0",
        "more": with_query(own, {"ended": ended, "after": shown[-1].lease.id}) if len(found) > PAGE_SIZE else None,
    }
    return await page.shown(
        "reservations.html", model, title="File reservations", section="file_reservations", project=project.slug
    )


async def _against(leases: Sequence[Lease]) -> Mapping[LeaseId, set[LeaseId]] | None:
    """Which of these overlap which, though one is exclusive; None where that is too much to find out."""

    def compare() -> Mapping[LeaseId, set[LeaseId]] | None:
        met: dict[LeaseId, set[LeaseId]] = defaultdict(set)
        try:
            for one, other in conflicts_among(leases, Patterns(), WorkBudget(COMPARED_STEPS)):
                met[one.id].add(other.id)
                met[other.id].add(one.id)
        except PatternsTooHard:
            return None
        return met

    return await computed(compare)


async def reservation(page: PageContext) -> PageAnswer:
    """One by itself, and the form that releases it, for whoever may: with the evidence as it is now."""
    number = page_number(page.keys["reservation"])
    if number and page.request.session is not None and page.caller.is_operator:
        project = await page.services.pages.oversight.project(page.keys["project"])
        await page.services.leases.reservations.look_at(
            page.caller, project.human_key, LeaseId(number), within_s=LOOK_WITHIN_S
        )
    return await _reservation(page)


async def _reservation(page: PageContext, refused: AgentMailError | None = None, status: int = 200) -> PageAnswer:
    project = await page.services.pages.oversight.project(page.keys["project"])
    found = await _found(page, project)
    model = {
        "here": project.slug,
        "row": lease_view(found, page.now),
        "free_ts": releasable_from(found, page.services.leases.staleness.rules, page.now),
        "refused": refused,
        "note": page.request.field("note")[:MAX_NOTE],
        "max_note": MAX_NOTE,
    }
    title = f"Reservation {found.lease.id}"
    return await page.shown(
        "reservation.html", model, title=title, section="file_reservations", project=project.slug, status=status
    )


async def _found(page: PageContext, project: Project) -> Assessment:
    number = page_number(page.keys["reservation"]) or 0
    listed = await page.services.leases.reservations.list_(
        page.caller, project.human_key, active_only=False, limit=1, after_id=max(0, number - 1)
    )
    if not listed or listed[0].lease.id != number:
        raise NoReservation(
            f"{project.human_key} has no file reservation {number}.",
            hint=f"{project_url(project.slug, 'file_reservations')} lists them.",
        )
    return listed[0]


async def release(page: PageContext) -> PageAnswer:
    """As `Human`, by the evidence: a refusal says on the same page what speaks against it, and one that comes too late
    who holds the files by now.
    """
    project = await page.services.pages.oversight.project(page.keys["project"])
    found = await _found(page, project)
    arguments = {
        "project_key": project.human_key,
        "agent_name": HUMAN,
        "file_reservation_id": int(found.lease.id),
        "notify_previous": True,
        "note": page.request.field("note"),
    }
    try:
        answer = await page.host.run_tool("force_release_file_reservation", arguments)
        assert isinstance(answer, dict)
        if answer.get("already_released"):
            raise await _ended_already(page, project, found.lease)
    except AgentMailError as refused:
        # To the operator it is the evidence that says no.
        status = 409 if isinstance(refused, PermissionDenied) else status_of(refused)
        return await _reservation(page, for_people(refused), status=status)
    own = project_url(project.slug, "file_reservations")
    told = None if answer["reservation"]["notified"] else "0"
    return redirect(with_query(own, {"released": found.lease.id, "told": told}))


async def _ended_already(page: PageContext, project: Project, ended: Lease) -> EndedAlready:
    live = await page.services.leases.reservations.list_(
        page.caller, project.human_key, active_only=True, limit=PAGE_SIZE, after_id=0
    )
    over = await _over(ended, [one.lease for one in live])
    # Quoted, so that no pattern is taken for words of the rule's own.
    held = [f"{one.agent} holds '{one.path_pattern}'" for one in over[:HOLDERS_SHOWN]]
    by_now = f" {listed(held, 'and')} now." if held else ""
    return EndedAlready(
        f"Reservation {ended.id} had ended already: nothing was released, and nobody was told by this.{by_now}",
        hint="The page File reservations lists the live ones: each is released on its own page.",
    )


async def _over(ended: Lease, live: Sequence[Lease]) -> list[Lease]:
    """Those that lie over the same files; of the same words alone where the patterns are too much to compare."""

    def compare() -> list[Lease]:
        patterns, work = Patterns(), WorkBudget(COMPARED_STEPS)
        try:
            return [one for one in live if overlap(patterns.of(ended), patterns.of(one), work)]
        except PatternsTooHard:
            return [one for one in live if one.path_pattern == ended.path_pattern]

    return await computed(compare)
