"""The way of another system's records from its reader to whoever keeps the store: a server, or this process."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.domain.importing.lines import pack
from mcp_agent_mail.domain.importing.reader import SourceReader
from mcp_agent_mail.domain.importing.records import SourceMessage, SourceStore
from mcp_agent_mail.domain.importing.report import ImportReport, Tally, report_of, tally_from_json
from mcp_agent_mail.domain.importing.steps import ContentStep, ImportStep, RecordsStep, StepAnswer, import_steps

Seen = Callable[[int], None]
"""Told of how many messages have gone by so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedImport:
    """What is asked of the store: `project` is a path or slug, None is for the store to know."""

    source: SourceStore
    project: str | None
    is_applied: bool


def bring_in(
    gateway: Gateway,
    reader: SourceReader,
    *,
    project: str | None,
    apply: bool,
    seen: Seen = lambda _count: None,
) -> ImportReport:
    """All that the reader gives, step by step; without `apply` it is only counted. What was brought in stays, whatever
    comes after it: the next run goes on. Raises what the reader and the store raise.
    """
    asked = AskedImport(source=reader.store(), project=project, is_applied=apply)
    steps = import_steps(reader, project)
    messages = 0
    tally = Tally()
    try:
        step = next(steps)
        while True:
            answer = _take(gateway, asked, step)
            if isinstance(step, RecordsStep) and not answer.wants:
                messages += sum(isinstance(one, SourceMessage) for one in step.records)
                seen(messages)
            step = steps.send(answer)
    except StopIteration as done:
        tally = done.value
    return report_of(tally, asked.source.system, asked.source.store_id, is_applied=apply)


def _take(gateway: Gateway, asked: AskedImport, step: ImportStep) -> StepAnswer:
    if isinstance(step, ContentStep):
        piece = base64.b64encode(step.piece).decode()
        arguments = {"sha256": step.sha256, "offset": step.offset, "piece": piece, "is_last": step.is_last}
        gateway.call("import_content", arguments)
        return StepAnswer(tally=Tally())
    answer = gateway.call(
        "import_records",
        {
            "system": asked.source.system,
            "store_id": asked.source.store_id,
            "records": pack(step.records),
            "context": pack(step.context),
            "into": asked.project,
            "apply": asked.is_applied,
        },
    )
    return StepAnswer(tally=tally_from_json(answer["tally"]), wants=tuple(answer["wants"]))
