"""The same import by both ways: beside a running server, and under the store's lock."""

from __future__ import annotations

import base64
import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.exit_codes import WireError
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server
from mcp_agent_mail.cli.gateway.imports import import_through
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.domain.importing.lines import unpack
from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceKind, SourceMessage
from mcp_agent_mail.domain.importing.report import ImportReport, Tally, tally_to_json
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.mcp_store import make_mcp_store
from tests.features.importing.scripted import copy, message, whole_store
from tests.served import Served


def settings_of(root: Path) -> Settings:
    environ = {"HOME": str(root), "STORAGE_ROOT": str(root / "store"), "AGENT_MAIL_ENV_FILE": os.devnull}
    return load_settings(environ, cwd=root).settings


def in_process(root: Path, *, apply: bool) -> ImportReport:
    gateway = InProcessGateway(settings_of(root))
    gateway.open()
    try:
        return import_through(gateway, whole_store(), project=None, apply=apply)
    finally:
        gateway.close()


def subjects(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return [one for (one,) in connection.execute("SELECT subject FROM messages ORDER BY id LIMIT 100")]


def test_without_a_server_it_is_written_and_in_git_when_it_ends(tmp_path: Path) -> None:
    dry = in_process(tmp_path, apply=False)
    applied = in_process(tmp_path, apply=True)
    again = in_process(tmp_path, apply=True)

    assert (dry.counts, dry.is_applied) == (applied.counts, False)
    assert {kind: one.added for kind, one in again.counts.items()} == dict.fromkeys(SourceKind, 0)
    assert subjects(tmp_path / "store" / "mail.sqlite3")[:2] == ["About m1", "About m2"]
    assert len(list((tmp_path / "store").glob("projects/old-app*/messages/*/*/*/*.md"))) == 6


def test_beside_a_server_batches_go_over_its_operators_way(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as served:
        token = (tmp_path / "store" / "operator.token").read_text().strip()
        gateway = HttpGateway(Server(url=f"http://127.0.0.1:{served.port}", bearer_token=token))
        reader = whole_store()
        reader.all_messages.append(
            message(
                "m7",
                "a1",
                copy("a2"),
                # No text is too long for a request: neither a body that escapes make six times as long, nor a content.
                body_md="\x01" * 1_000_000,
                attachments=(SourceAttachment(name="x.bin", content=os.urandom(5_000_000)),),
            )
        )

        seen: list[int] = []
        report = import_through(gateway, reader, project=None, apply=True, seen=seen.append)
        again = import_through(gateway, reader, project=None, apply=True)
        gateway.close()

    assert report.counts[SourceKind.MESSAGE].added == 8
    assert report.counts[SourceKind.ATTACHMENT].added == 3
    assert again.added == 0
    assert (seen[0], seen[-1]) == (0, 7)
    assert subjects(served.database)[-1] == "About m7"


def test_who_is_not_the_operator_brings_nothing_in(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as served:
        gateway = HttpGateway(Server(url=f"http://127.0.0.1:{served.port}"))

        with pytest.raises(WireError, match="operator"):
            import_through(gateway, whole_store(), project=None, apply=True)
        gateway.close()


class _Keeper:
    """A store that wants each content once and counts what it is given."""

    is_in_process = True

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
        report = import_through(keeper, reader, project="/data/api", apply=True, seen=seen.append)

    assert report.is_applied
    assert report.counts[SourceKind.MESSAGE].added == seen[-1] > 0
    assert seen == sorted(seen)
    assert len(keeper.contents) > 1
    assert all(hashlib.sha256(content).hexdigest() == sha256 for sha256, content in keeper.contents.items())
    batches = [arguments for tool, arguments in keeper.calls if tool == "import_records"]
    assert all(len(unpack(one["records"])) <= 100 for one in batches)
    assert {(one["system"], one["into"], one["apply"]) for one in batches} == {("mcp-agent-mail", "/data/api", True)}
