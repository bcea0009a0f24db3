"""The receipts of all archives, in the order in which they were given: the first of each counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mcp_agent_mail.core.clock import Micros, from_datetime, to_datetime
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedReceipts
from mcp_agent_mail.domain.archive_format.parse.files import parse_file
from mcp_agent_mail.features.doctor.external_sort import Spool
from mcp_agent_mail.features.recovery.passes.events_pass import CommitSpan, EventsPass
from mcp_agent_mail.features.recovery.refusals import ArchiveProblems
from mcp_agent_mail.features.recovery.sources import ArchiveSource, Readers, blamed
from mcp_agent_mail.store.rebuild.database import RebuiltDatabase

_RECEIPTS = re.compile(r"(?:agents/[^/\n]+/)?receipts/([0-9]{4})/([0-9]{2})/([0-9]{2})/([0-9]{1,18})\.jsonl")


class ReceiptsPass:
    """`add` what the listings have, then `run` once the mail and the history of every archive are there."""

    def __init__(
        self, sources: Sequence[ArchiveSource], database: RebuiltDatabase, readers: Readers, folder: Path
    ) -> None:
        self._sources = sources
        self._database = database
        self._readers = readers
        self._spool = Spool(folder)

    def add(self, source: ArchiveSource, path: str, blob: str) -> bool:
        """Take in a file; False for one that holds no receipts."""
        found = _RECEIPTS.fullmatch(path)
        if found is None:
            return False
        self._spool.add(f"{int(found[4]):020d} {source.number:08d} {blob} {path}".encode())
        return True

    def run(self, events: EventsPass, problems: ArchiveProblems) -> None:
        """Note what was read, and the events that told of it. What does not fit stands in `problems` afterwards."""
        spans = events.receipt_spans()
        span = next(spans, None)
        for line in self._spool:
            first, number, blob, path = line.decode().split(" ", 3)
            source = self._sources[int(number)]
            while span is not None and span[0] < int(first):
                span = next(spans, None)
            with blamed(source, problems):
                found = parse_file(path, self._readers.read(source, path, blob), source.version)
                assert isinstance(found, ArchivedReceipts), path
                if span is None or span[0] != found.first_seq or not span[1].holds(found.first_seq, source.project.id):
                    problems.add(source.slug, f"no commit of the archiver has brought {path}")
                    continue
                self._add(source, path, found, span[1], events, problems)

    def _add(
        self,
        source: ArchiveSource,
        path: str,
        found: ArchivedReceipts,
        span: CommitSpan,
        events: EventsPass,
        problems: ArchiveProblems,
    ) -> None:
        for place, receipt in enumerate(found.receipts):
            if not self._database.add_receipt(receipt):
                problems.add(
                    source.slug, f"{path} tells of message {receipt.message_id}, which {receipt.agent} never got"
                )
                return
            at = _on_day(path, receipt.at) if place == 0 else receipt.at
            events.add_receipt(span, receipt, found.first_seq, place, at)


def _on_day(path: str, at: Micros) -> Micros:
    """The time itself where it is of the day that the path names; else the beginning of that."""
    found = _RECEIPTS.fullmatch(path)
    assert found is not None, path
    day = to_datetime(at).replace(year=int(found[1]), month=int(found[2]), day=int(found[3]))
    return at if day == to_datetime(at) else from_datetime(day.replace(hour=0, minute=0, second=0, microsecond=0))
