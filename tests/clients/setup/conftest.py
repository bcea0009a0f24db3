"""A server, and an `am` that clients can run."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.setup.contract_wishes import SetupSettings
from mcp_agent_mail.clients.setup.proof import Bench
from mcp_agent_mail.clients.setup.wishes import FileWish
from tests.served import Served


@dataclass(frozen=True, slots=True)
class Ground:
    """`home` has nothing in it but the server's store."""

    server: Served
    home: Path
    am: Path

    @property
    def settings(self) -> SetupSettings:
        return SetupSettings(am=str(self.am), url=f"http://127.0.0.1:{self.server.port}/mcp", has_token=False)

    def environment(self) -> dict[str, str]:
        return {**self.server.environment(), "AGENT_MAIL_URL": f"http://127.0.0.1:{self.server.port}"}

    def bench(self, project: Path, wanted: Sequence[FileWish] = (), *, am: Path | None = None) -> Bench:
        """`wanted`: the wishes whose files are as wished."""

        # Plain JSON.
        def call(tool: str, arguments: Mapping[str, Any]) -> Any:
            with self.server.connect() as connection:
                return connection.call(tool, **arguments)

        return Bench(
            call=call,
            project=project,
            environ=self.environment(),
            am=str(am or self.am),
            as_wished=[wish.path for wish in wanted],
        )


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One server for all tests of a process."""
    home = tmp_path_factory.mktemp("ground")
    am = home / "an am/am"
    am.parent.mkdir()
    am.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m mcp_agent_mail "$@"\n')
    am.chmod(0o755)
    with Served(home / "store", HOME=str(home), PATH=os.environ["PATH"]) as server:
        yield Ground(server, home, am)
