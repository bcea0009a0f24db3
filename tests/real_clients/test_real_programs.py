"""The real programs of the agent CLIs read what `am setup` wrote: our server by its URL, and our hooks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from tests.real_clients.conftest import NOT_HAD, READ
from tests.real_clients.looks import HOOK_LOOKS, LOOKS, SAYS_CONNECTED, SAYS_NO_URL, Asked, Refused, Shown
from tests.real_clients.programs import NotHad, Program, environment, install, programs
from tests.served import Served

pytestmark = pytest.mark.real_clients

PROGRAMS = programs()
SETUP_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with that program, an empty home, and our server."""

    program: Program
    path: Path
    home: Path
    server: Served

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/mcp"

    @property
    def client(self) -> str:
        return self.program.client

    @property
    def asked(self) -> Asked:
        return Asked(program=self.path, home=self.home, environ=environment(self.program, self.home))

    def am_setup(self, *words: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "mcp_agent_mail", "setup", *words, "--json"],
            capture_output=True,
            text=True,
            check=False,
            timeout=SETUP_WITHIN_S,
            cwd=self.home,
            env={
                **self.server.environment(),
                "HOME": str(self.home),
                "AGENT_MAIL_URL": f"http://127.0.0.1:{self.server.port}",
                "PATH": f"{self.path.parent}:{os.environ['PATH']}",
            },
        )
        assert done.returncode == 0, f"am setup {words}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def set_up(self) -> None:
        assert self.am_setup("--client", self.client, "--yes")["changed"] != []

    def file(self, part: str) -> Path:
        """Where our entry, or hooks, are in the person's home."""
        written: str = read_contract(self.client)["files"][part]["user"]["path"]
        return self.home / written.removeprefix("~/")

    def rewrite(self, part: str, old: str, new: str) -> None:
        path = self.file(part)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served")
    with Served(home / "store", HOME=str(home)) as server:
        yield server


@pytest.fixture(scope="session")
def installed() -> Callable[[Program], Path]:
    """Each program once: `install` looks whether it starts, which takes seconds."""
    kept: dict[str, Path | NotHad] = {}

    def find(program: Program) -> Path:
        if program.client not in kept:
            try:
                kept[program.client] = install(program)
            except NotHad as reason:
                kept[program.client] = reason
        found = kept[program.client]
        if isinstance(found, NotHad):
            pytest.skip(f"{program.client}: {found}")
        return found

    return find


@pytest.fixture
def person(
    request: pytest.FixtureRequest,
    installed: Callable[[Program], Path],
    served: Served,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> Person:
    program: Program = request.param
    try:
        path = installed(program)
    except pytest.skip.Exception as skipped:
        record_property(NOT_HAD, skipped.msg)
        raise
    home = tmp_path / "home"
    home.mkdir()
    return Person(program, path, home, served)


def of(clients: set[str]) -> pytest.MarkDecorator:
    chosen = [program for program in PROGRAMS if program.client in clients]
    return pytest.mark.parametrize("person", chosen, indirect=True, ids=lambda program: program.client)


def seen_by(person: Person) -> Shown | None:
    return LOOKS[person.client](person.asked)


def seen_or_refused(person: Person) -> Shown | None:
    """None also where the program does not take the file at all."""
    try:
        return seen_by(person)
    except Refused:
        return None


def installed_hooks(person: Person) -> set[str]:
    """By name, as `am setup` installs them."""
    if person.client == "opencode":
        return {person.file("hooks").name}
    events = read_contract(person.client)["events"]
    return {name for name, event in events.items() if event["install"] is not None}


def test_every_client_with_a_contract_has_a_program_or_a_reason() -> None:
    assert {program.client for program in PROGRAMS} == set(CLIENTS)
    assert {program.client for program in PROGRAMS if program.package} == set(LOOKS)
    assert all(program.version if program.package else program.no_package for program in PROGRAMS)


@of(set(CLIENTS))
def test_a_program_sees_our_server_until_it_is_taken_back(
    person: Person, record_property: Callable[[str, object], None]
) -> None:
    assert seen_by(person) is None
    person.set_up()

    shown = seen_by(person)
    person.am_setup("--undo", "--yes")
    shown_after = seen_by(person)

    assert shown == Shown(
        url=None if person.client in SAYS_NO_URL else person.url,
        is_connected=True if person.client in SAYS_CONNECTED else None,
    )
    assert shown_after is None
    record_property(READ, f"{person.client} {person.program.version}")


@of(set(LOOKS))
def test_an_entry_in_the_wrong_place_is_not_seen(person: Person) -> None:
    """The program reads it, and not we: what it does not know is not shown."""
    key = read_contract(person.client)["files"]["mcp"]["user"]["keys"][-1]
    person.set_up()

    person.rewrite("mcp", key, f"{key}x")

    assert seen_or_refused(person) is None


@of(SAYS_CONNECTED)
def test_an_entry_that_leads_nowhere_is_not_called_connected(person: Person) -> None:
    person.set_up()

    person.rewrite("mcp", person.url, "http://127.0.0.1:9/mcp")

    shown = seen_by(person)
    assert shown is not None
    assert shown.is_connected is False


@of(set(HOOK_LOOKS))
def test_a_program_reads_our_hooks_until_they_are_taken_back(person: Person) -> None:
    look = HOOK_LOOKS[person.client]
    person.set_up()

    read = look(person.asked)
    person.am_setup("--undo", "--yes")
    read_after = look(person.asked)

    assert read == installed_hooks(person)
    assert read_after == set()


@of(set(HOOK_LOOKS))
def test_hooks_in_the_wrong_place_are_not_read(person: Person) -> None:
    person.set_up()
    path = person.file("hooks")

    path.rename(path.with_name(f"{path.stem}-elsewhere.txt"))

    assert HOOK_LOOKS[person.client](person.asked) == set()
