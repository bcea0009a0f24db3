"""Brings what a reader gives into the store behind a gateway, a running server's or one in process: batch by batch."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcp_agent_mail.cli.gateway.port import Gateway
from mcp_agent_mail.domain.importing.lines import pack
from mcp_agent_mail.domain.importing.reader import SourceReader
from mcp_agent_mail.domain.importing.records import SourceMessage, SourceStore
from mcp_agent_mail.domain.importing.report import ImportReport, Tally, WhyRenamed, report_of, tally_from_json
from mcp_agent_mail.domain.importing.steps import ContentStep, ImportStep, RecordsStep, StepAnswer, import_steps

Seen = Callable[[int], None]
"""Told how many messages have gone by so far."""


def import_through(
    gateway: Gateway,
    reader: SourceReader,
    *,
    project: str | None,
    apply: bool,
    is_rehearsal: bool = False,
    seen: Seen = lambda _count: None,
) -> ImportReport:
    """All that the reader gives, for the operator; without `apply` it is only counted. `is_rehearsal`: what the gateway
    leads to is thrown away, and the report is of a dry run. The source is read here, where
    the command runs. What was brought in stays, whatever comes after it: the next run goes on. `project`: of a store
    whose projects have directories the only one to take, by path or slug; else the path or slug of the project into
    which everything goes. Raises what the reader and the gateway raise.
    """
    source, messages = reader.store(), 0
    steps = import_steps(reader, project)
    tally = Tally()
    try:
        step = next(steps)
        while True:
            answer = _walk(gateway, source, step, project=project, apply=apply)
            if isinstance(step, RecordsStep) and not answer.wants:
                messages += sum(isinstance(one, SourceMessage) for one in step.records)
                seen(messages)
            step = steps.send(answer)
    except StopIteration as done:
        tally = done.value
    if is_rehearsal:
        # The names that are made in the end are drawn anew.
        tally.names = [one if one.why is WhyRenamed.JOINED else replace(one, agent=None) for one in tally.names]
    return report_of(tally, source.system, source.store_id, is_applied=apply and not is_rehearsal)


def _walk(gateway: Gateway, source: SourceStore, step: ImportStep, *, project: str | None, apply: bool) -> StepAnswer:
    if isinstance(step, ContentStep):
        _give(gateway, step)
        return StepAnswer(tally=Tally())
    return _send(gateway, source, step, project=project, apply=apply)


def _give(gateway: Gateway, step: ContentStep) -> None:
    piece = base64.b64encode(step.piece).decode()
    arguments = {"sha256": step.sha256, "offset": step.offset, "piece": piece, "is_last": step.is_last}
    gateway.call("import_content", arguments)


def _send(gateway: Gateway, source: SourceStore, step: RecordsStep, *, project: str | None, apply: bool) -> StepAnswer:
    arguments: dict[str, Any] = {  # plain JSON
        "system": source.system,
        "store_id": source.store_id,
        "records": pack(step.records),
        "context": pack(step.context),
        "apply": apply,
    }
    if source.oldest_mail:
        arguments["oldest_mail"] = list(source.oldest_mail)
    if project is not None:
        arguments["into"] = project
    answer = gateway.call("import_records", arguments)
    return StepAnswer(tally=tally_from_json(answer["tally"]), wants=tuple(answer["wants"]))
