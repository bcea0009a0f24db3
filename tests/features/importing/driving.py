"""A whole import by the service alone: what `am import` does beside a server or under the store's lock."""

from __future__ import annotations

from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.importing.reader import SourceReader
from mcp_agent_mail.domain.importing.report import ImportReport, Tally, report_of
from mcp_agent_mail.domain.importing.steps import ContentStep, StepAnswer, import_steps
from mcp_agent_mail.features.importing.requests import ImportRequest
from mcp_agent_mail.features.importing.service import ImportService

OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)


async def brought_by(
    service: ImportService,
    reader: SourceReader,
    *,
    caller: Caller = OPERATOR,
    project: str | None = None,
    apply: bool = True,
) -> ImportReport:
    request = ImportRequest(source=reader.store(), project=project, apply=apply)
    steps, tally = import_steps(reader, project), Tally()
    try:
        step = next(steps)
        while True:
            if isinstance(step, ContentStep):
                await service.keep_piece(caller, step)
                answer = StepAnswer(tally=Tally())
            else:
                answer = await service.take(caller, request, step)
            step = steps.send(answer)
    except StopIteration as done:
        tally = done.value
    return report_of(tally, request.source.system, request.source.store_id, is_applied=apply)
