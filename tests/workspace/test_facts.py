from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.staleness import Sighting
from mcp_agent_mail.workspace.activity import Bounds
from mcp_agent_mail.workspace.facts import KEEP_S, Workspaces
from tests.workspace.code_repository import EPOCH_S, begin, commit, git, write

NOW_S = EPOCH_S + 1_000_000


@dataclass
class Stopwatch:
    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


def workspaces(watch: Stopwatch | None = None, **bounds: float) -> Workspaces:
    limits = Bounds(**bounds)  # type: ignore[arg-type]  # counts and seconds alike
    return Workspaces(bounds=limits, clock=lambda: Micros(NOW_S * SECOND), elapsed=watch or Stopwatch())


def at(seconds: int) -> Sighting:
    return Sighting(last_ts=Micros(seconds * SECOND))


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository with `src/app.py` and `docs/page.md`, both of EPOCH_S."""
    repository = begin(tmp_path / "code")
    write(repository, "src/app.py")
    write(repository, "docs/page.md")
    write(repository, ".gitignore", content="*.log\n")
    commit(repository)
    return repository


def test_what_a_directory_tells_is_asked_by_its_path(code: Path) -> None:
    git(code, "config", "core.ignorecase", "true")
    spaces = workspaces()

    seen = spaces.activity(str(code), "SRC/*.PY", ignore_case=True)

    assert (spaces.ignore_case(str(code)), spaces.branch(str(code))) == (True, "main")
    assert [spaces.is_folder(str(code), path) for path in ("src", "src/app.py")] == [True, False]
    assert (seen.filesystem, seen.git) == (at(EPOCH_S), at(EPOCH_S))


def test_a_fact_is_remembered_for_some_seconds_and_looked_up_again_after(code: Path) -> None:
    watch = Stopwatch()
    spaces = workspaces(watch)
    spaces.branch(str(code))
    git(code, "checkout", "--quiet", "-b", "other")

    watch.seconds = KEEP_S
    remembered = spaces.branch(str(code))
    watch.seconds = KEEP_S + 0.1
    looked_up = spaces.branch(str(code))

    assert (remembered, looked_up) == ("main", "other")


def test_nothing_that_the_repositorys_own_settings_name_is_run(code: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {told}\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "gpg.program", "core.pager", "core.sshCommand", "diff.external"):
        git(code, "config", name, str(program))
    git(code, "config", "log.showSignature", "true")
    spaces = workspaces()

    spaces.activity(str(code), "src/", ignore_case=False)
    spaces.branch(str(code))
    spaces.ignore_case(str(code))

    assert not told.exists()


def test_evidence_gathered_anew_does_not_come_from_memory(code: Path) -> None:
    spaces = workspaces()
    spaces.activity(str(code), "src/app.py", ignore_case=False)
    write(code, "src/app.py", at_s=EPOCH_S + 77)

    remembered = spaces.activity(str(code), "src/app.py", ignore_case=False)
    anew = spaces.activity(str(code), "src/app.py", ignore_case=False, anew=True)

    assert (remembered.filesystem, anew.filesystem) == (at(EPOCH_S), at(EPOCH_S + 77))
