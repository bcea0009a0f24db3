"""Importing: the use cases. Each unit of work records by which keys the source knows what it writes, so an import may
be repeated, and go on after it was killed, without anything being there twice.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from mcp_agent_mail.core.ids import AGENT_TOKEN_PREFIX, new_token
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.identity.names import candidate_names
from mcp_agent_mail.domain.importing.records import (
    SourceAgent,
    SourceKind,
    SourceLease,
    SourceLink,
    SourceMessage,
    SourceProduct,
    SourceProject,
    SourceRecord,
)
from mcp_agent_mail.domain.importing.report import Tally
from mcp_agent_mail.domain.importing.steps import ContentStep, RecordsStep, StepAnswer
from mcp_agent_mail.domain.projects import is_path
from mcp_agent_mail.features.importing.agents import take_agent
from mcp_agent_mail.features.importing.contents import ImportedContents
from mcp_agent_mail.features.importing.leases import take_lease
from mcp_agent_mail.features.importing.links import take_link
from mcp_agent_mail.features.importing.messages import events_of, take_message
from mcp_agent_mail.features.importing.products import take_product
from mcp_agent_mail.features.importing.projects import find_at, place_of, take_project
from mcp_agent_mail.features.importing.requests import ImportRequest
from mcp_agent_mail.features.importing.unit_of_work import ImportRules, ImportSupplies, RunningUnit
from mcp_agent_mail.features.projects.ensure import ProjectRequest
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

MOST_EVENTS = 400
"""Of one unit of work; a message fits whatever its recipients. Beside them stands one for each project."""
WAIT_AT_MOST_S = 20.0
"""For the archives, before a step begins: within the time that a command waits for an answer."""
_SPARE_NAMES = 64
_NAMES_EACH = 4


class ImportService:
    """`throttle` is awaited before each step: while the archives are far behind it waits, for so many seconds at most.
    Names are drawn by `choose`.
    """

    def __init__(
        self,
        store: Store,
        projects: ProjectService,
        contents: ImportedContents,
        *,
        rules: ImportRules,
        throttle: Callable[[float], Awaitable[None]],
        choose: Callable[[Sequence[str]], str] = secrets.choice,
    ) -> None:
        self._store = store
        self._projects = projects
        self._contents = contents
        self._rules = rules
        self._throttle = throttle
        self._choose = choose
        self._turn = asyncio.Lock()

    async def take(self, caller: Caller, request: ImportRequest, step: RecordsStep) -> StepAnswer:
        """For the operator: one step of an import, all of it, in units of a bounded number of events, or nothing where
        contents are lacking; without `apply` it is only counted. What is here already stays as it is, so that a repeat
        goes on where an import was interrupted. Raises MissingProject, UnknownProject, ProjectArchived and
        StoreTooLarge: what was written until then stays.
        """
        require_operator(caller)
        async with self._turn:
            if not request.apply:
                return StepAnswer(tally=await self._store.read(lambda view: self._count(view, request, step)))
            wants = await self._contents.lacking(await self._carried(request, step.records))
            if wants:
                return StepAnswer(tally=Tally(), wants=tuple(wants))
            await self._throttle(WAIT_AT_MOST_S)
            tally = Tally()
            for records in _units(step.records):
                tally.add(await self._take_unit(request, step, records))
            return StepAnswer(tally=tally)

    async def keep_piece(self, caller: Caller, step: ContentStep) -> None:
        """A piece of a content that a step wants. Raises BrokenContent, AttachmentTooLarge."""
        require_operator(caller)
        await self._contents.add(step)

    async def _carried(self, request: ImportRequest, records: Sequence[SourceRecord]) -> list[str]:
        """Digests of what messages bring that are new here and have room for it."""
        brings = [one for one in records if isinstance(one, SourceMessage) and one.attachments]
        if not brings:
            return []
        most, source = self._rules.attachment_max_bytes, request.source
        new = await self._store.read(
            lambda view: [
                one
                for one in brings
                if any(view.imported.find(source, SourceKind.MESSAGE, key) is None for key in (one.key, *one.also))
            ]
        )
        found = (one for message in new for one in message.attachments)
        return list(dict.fromkeys(one.sha256 for one in found if one.sha256 is not None and one.size_bytes <= most))

    def _count(self, view: View, request: ImportRequest, step: RecordsStep) -> Tally:
        unit = self._unit(view, None, request, step, _NO_SUPPLIES)
        for record in step.records:
            _take(unit, record, {}, self._home(request))
        return unit.tally

    async def _take_unit(self, request: ImportRequest, step: RecordsStep, records: Sequence[SourceRecord]) -> Tally:
        supplies = await self._supplies(request, records)
        home = self._home(request)
        asked = {
            one.key: await self._projects.project_request(place)
            for one in records
            if isinstance(one, SourceProject) and is_path(place := place_of(one, home))
        }

        def work(tx: Tx) -> Tally:
            unit = self._unit(tx, tx, request, step, supplies)
            with tx.unnoticed():
                for record in records:
                    _take(unit, record, asked, home)
                unit.finish(tx)
            return unit.tally

        return await self._store.write(work)

    def _unit(
        self, view: View, tx: Tx | None, request: ImportRequest, step: RecordsStep, supplies: ImportSupplies
    ) -> RunningUnit:
        home = self._home(request)
        return RunningUnit(
            source=request.source,
            rules=self._rules,
            view=view,
            tx=tx,
            find_project=lambda view, source: find_at(view, place_of(source, home)),
            supplies=supplies,
            context={one.key: one for one in step.context},
            named=request.project,
        )

    async def _supplies(self, request: ImportRequest, records: Sequence[SourceRecord]) -> ImportSupplies:
        agents = sum(isinstance(one, SourceAgent) for one in records)
        count = _SPARE_NAMES + _NAMES_EACH * agents if agents else 0
        return ImportSupplies(
            candidates=iter(candidate_names(self._choose, count)),
            tokens=iter([new_token(AGENT_TOKEN_PREFIX) for _ in range(agents)]),
            contents=await self._contents.ready(await self._carried(request, records)),
        )

    def _home(self, request: ImportRequest) -> str:
        return request.project or self._rules.home


_NO_SUPPLIES = ImportSupplies(candidates=iter(()), tokens=iter(()))


def _take(unit: RunningUnit, record: SourceRecord, asked: Mapping[str, ProjectRequest], home: str) -> None:
    match record:
        case SourceProject():
            take_project(unit, record, place_of(record, home), asked.get(record.key))
        case SourceAgent():
            take_agent(unit, record)
        case SourceMessage():
            take_message(unit, record)
        case SourceLease():
            take_lease(unit, record)
        case SourceLink():
            take_link(unit, record)
        case SourceProduct():
            take_product(unit, record)


_EVENTS = {SourceProject: 4, SourceAgent: 1, SourceLease: 1, SourceLink: 2}
"""Of which at most so many archives are told of a record."""


def _events(record: SourceRecord) -> int:
    if isinstance(record, SourceMessage):
        return events_of(record)
    return len(record.project_keys) if isinstance(record, SourceProduct) else _EVENTS[type(record)]


def _units(records: Sequence[SourceRecord]) -> Iterator[list[SourceRecord]]:
    """In their order, each with a bounded number of events."""
    unit: list[SourceRecord] = []
    events = 0
    for record in records:
        if unit and events + _events(record) > MOST_EVENTS:
            yield unit
            unit, events = [], 0
        unit.append(record)
        events += _events(record)
    if unit:
        yield unit
