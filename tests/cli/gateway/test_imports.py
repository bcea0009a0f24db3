"""The same import by both ways: beside a running server, and under the store's lock."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.cli.exit_codes import WireError
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server
from mcp_agent_mail.cli.gateway.imports import import_through
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceKind
from mcp_agent_mail.domain.importing.report import ImportReport
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
