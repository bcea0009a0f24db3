"""What goes to the store, step by step: records in batches, contents only where they are asked for."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.importing.steps import bring_in
from mcp_agent_mail.domain.importing.lines import unpack
from mcp_agent_mail.domain.importing.records import SourceKind, SourceMessage
from mcp_agent_mail.domain.importing.report import Tally, tally_to_json
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.mcp_store import make_mcp_store


class _Keeper:
    """A store that wants each content once and counts what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.contents: dict[str, bytes] = {}

    # Plain JSON.
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.calls.append((tool, arguments))
        if tool == "import_content":
            piece = base64.b64decode(arguments["piece"])
            self.contents[arguments["sha256"]] = self.contents.get(arguments["sha256"], b"") + piece
            return {"kept": arguments["is_last"]}
        tally = Tally()
        records = unpack(arguments["records"])
        carried = [one.sha256 for record in records if isinstance(record, SourceMessage) for one in record.attachments]
        wants = [sha256 for sha256 in dict.fromkeys(carried) if sha256 is not None and sha256 not in self.contents]
        if wants:
            return {"wants": wants, "tally": tally_to_json(tally)}
        tally.of(SourceKind.MESSAGE).added = sum(isinstance(one, SourceMessage) for one in records)
        return {"wants": [], "tally": tally_to_json(tally)}

    # Likewise.
    def read(self, uri: str) -> Any:
        raise AssertionError(uri)

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        raise AssertionError(slug, sha256)


def test_everything_goes_in_batches_and_contents_once_each(tmp_path: Path) -> None:
    made = make_mcp_store(tmp_path / "older", messages=300)
    keeper = _Keeper()
    seen: list[int] = []

    with open_source("mcp-agent-mail", made.database, archive=made.archive) as reader:
        report = bring_in(keeper, reader, project="/data/api", apply=True, seen=seen.append)

    assert report.is_applied
    assert report.counts[SourceKind.MESSAGE].added == seen[-1] > 0
    assert seen == sorted(seen)
    assert len(keeper.contents) > 1
    assert all(hashlib.sha256(content).hexdigest() == sha256 for sha256, content in keeper.contents.items())
    batches = [arguments for tool, arguments in keeper.calls if tool == "import_records"]
    assert all(len(unpack(one["records"])) <= 100 for one in batches)
    assert {(one["system"], one["into"], one["apply"]) for one in batches} == {("mcp-agent-mail", "/data/api", True)}
