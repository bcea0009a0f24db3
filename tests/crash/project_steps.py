"""Steps of projects: new ones now and then, and two that are put aside and brought back by one client each."""

from __future__ import annotations

from collections.abc import Mapping

from tests.crash.actor import PROJECTS, Actor, Step
from tests.crash.evidence import Evidence, Look
from tests.crash.record import Cell, Value
from tests.served import Connection

PUT_ASIDE = ("/crash/aside/one", "/crash/aside/two")


def ensure(actor: Actor, connection: Connection) -> None:
    """Mostly one that is there already: each new one is a repository more to look at."""
    path = f"/crash/late/{actor.unique()}" if actor.chance.random() < 0.2 else actor.chance.choice(PROJECTS)
    result = actor.ask(connection, "ensure_project", human_key=path)
    if result is not None:
        actor.record.settle(("project", path), result["id"])


def put_aside(actor: Actor, connection: Connection) -> None:
    _set_aside(actor, connection, is_aside=True)


def bring_back(actor: Actor, connection: Connection) -> None:
    _set_aside(actor, connection, is_aside=False)


def _set_aside(actor: Actor, connection: Connection, *, is_aside: bool) -> None:
    if actor.number >= len(PUT_ASIDE):
        return
    project = PUT_ASIDE[actor.number]
    tool = "archive_project" if is_aside else "unarchive_project"
    actor.change(connection, tool, ("aside", project), is_aside, project_key=project)


STEPS = (
    Step(("ensure_project",), 1, ensure),
    Step(("archive_project",), 4, put_aside),
    Step(("unarchive_project",), 4, bring_back),
)


def _in_store(kind: str, column: str) -> Look:
    def find(evidence: Evidence) -> Mapping[Cell, Value]:
        return {(kind, key): value for key, value in evidence.rows(f"SELECT human_key, {column} FROM projects")}

    return Look(kind, "SQLite", find)


def _ids_in_git(evidence: Evidence) -> Mapping[Cell, Value]:
    notes = evidence.documents(r"archive\.json").items()
    return {("project", project): note["project"]["id"] for (project, _), note in notes}


def _aside_in_git(evidence: Evidence) -> Mapping[Cell, Value]:
    notes = evidence.documents(r"archive\.json").items()
    return {("aside", project): note["project"]["archived_at"] is not None for (project, _), note in notes}


LOOKS = (
    _in_store("project", "id"),
    Look("project", "Git", _ids_in_git),
    _in_store("aside", "archived_ts IS NOT NULL"),
    Look("aside", "Git", _aside_in_git),
)
