"""A real server whose places for calls are all taken: whoever asks after it is told that it is up and busy."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.entry_points import install
from tests.pages.blocks import ROOT
from tests.served import Served, pause

PLACES, OPERATORS = 8, 8
"""The fewest that HTTP_MAX_CALLS takes, and those that the operator has besides."""
PACKAGE = """
    import asyncio
    from pathlib import Path
    from typing import Annotated
    from mcp_agent_mail.extending import Json, Text, tool

    async def hold(*, folder: Annotated[str, Text()], number: Annotated[str, Text()]) -> Json:
        '''Be at work until it is told to end.'''
        (Path(folder) / number).touch()
        while not (Path(folder) / "end").exists():
            await asyncio.sleep(0.02)
        return {}

    def tools(host):
        return [tool(hold, title="Hold")]
"""


class FullServer:
    """`fill` takes places with calls that are at work until `free`."""

    def __init__(self, server: Served, folder: Path) -> None:
        self.server = server
        self._folder = folder
        self._calling: list[threading.Thread] = []

    def fill(self, count: int, **headers: str) -> None:
        asked = [str(len(self._calling) + number) for number in range(count)]
        new = [threading.Thread(target=self._hold, args=(number, headers)) for number in asked]
        self._calling += new
        for one in new:
            one.start()
        while not all((self._folder / number).exists() for number in asked):
            pause()

    def free(self) -> None:
        (self._folder / "end").touch()
        for one in self._calling:
            one.join()

    def operator(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.server.root / 'operator.token').read_text().strip()}"}

    def _hold(self, number: str, headers: dict[str, str]) -> None:
        with self.server.connect(**headers) as connection:
            connection.call("hold", folder=str(self._folder), number=number)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[FullServer]:
    """All places are taken but the operator's own."""
    site, folder = tmp_path / "site", tmp_path / "begun"
    site.mkdir()
    folder.mkdir()
    install(site, "holding-tools", PACKAGE, holding="tools")
    path = os.pathsep.join((str(site), str(ROOT / "src")))
    settings = {"CUSTOM_TOOLS": "holding", "HTTP_MAX_CALLS": str(PLACES)}
    with Served(tmp_path / "store", port=None, PYTHONPATH=path, **settings) as server:
        full = FullServer(server, folder)
        full.fill(PLACES)
        try:
            yield full
        finally:
            full.free()


@pytest.mark.parametrize("whose", ["the operator's store", "an address alone"])
def test_status_and_top_say_that_it_is_up_and_busy_and_well_again_later(
    full: FullServer, shell: Shell, whose: str
) -> None:
    if whose == "an address alone":
        shell.set(AGENT_MAIL_URL=f"http://127.0.0.1:{full.server.port}", STORAGE_ROOT=str(shell.home / "none"))
    else:
        shell.set(STORAGE_ROOT=str(full.server.root))
        full.fill(OPERATORS, **full.operator())

    status = shell.am("status", "--json")
    words = shell.am("status")
    top = shell.am("top", "--once")
    full.free()
    well = [shell.am("status"), shell.am("top", "--once")]

    assert (status.code, status.json()["running"], status.json()["status"]) == (1, True, "busy")
    assert "calls are at work already" in status.json()["problem"]
    assert words.code == 1
    assert dict(words.lines())["server"].startswith("up, and busy: look again in 5 s")
    assert top.code == 1
    assert "calls are at work already" in top.out + top.err
    assert [one.code for one in well] == [0, 0]


def test_the_operators_own_places_let_it_look_at_a_server_that_others_fill(full: FullServer, shell: Shell) -> None:
    shell.set(STORAGE_ROOT=str(full.server.root))

    assert [shell.am("status").code, shell.am("top", "--once").code] == [0, 0]
