"""`am` run in the process of its tests: the same commands without the start of an interpreter."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.cli.app import run
from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.gateway.port import open_gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    def lines(self) -> list[list[str]]:
        """The cells of each line that was printed for a pipe."""
        return [line.split("\t") for line in self.out.splitlines()]

    # Plain JSON.
    def json(self) -> Any:
        assert self.out, self.err
        return json.loads(self.out)


class Shell:
    """Someone in a home folder of their own; the store is there unless `set` names another."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.set(HOME=str(home), COLUMNS="80", NO_COLOR="1", HTTP_PORT="1")
        self.go_to(home)

    def set(self, **settings: str) -> None:
        """Settings of its environment from now on."""
        for name, value in settings.items():
            self._monkeypatch.setenv(name, value)

    def unset(self, *names: str) -> None:
        for name in names:
            self._monkeypatch.delenv(name)

    def go_to(self, folder: Path) -> None:
        self._monkeypatch.chdir(folder)

    def context(self) -> CliContext:
        """What its commands find around them."""
        return load_context()

    def am(self, *arguments: str) -> Ended:
        self._capsys.readouterr()
        code = run(arguments)
        told = self._capsys.readouterr()
        return Ended(code=int(code), out=told.out, err=told.err)

    # Plain JSON.
    def call(self, tool: str, /, **arguments: Any) -> Any:
        """A tool, of the server or of the store that its commands would take."""
        with open_gateway(self.context()) as gateway:
            return gateway.call(tool, arguments)
