"""Who is who, by number and by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.importing.refusals import SourceUnreadable
from mcp_agent_mail.facades.importers.mcp_agent_mail import people as people_module
from mcp_agent_mail.facades.importers.mcp_agent_mail.people import SourcePeople
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes

_AT = Micros(5_000_000)


def test_a_project_gets_its_directory_from_whoever_knows_it_first() -> None:
    notes = ReadingNotes()
    people = SourcePeople(Path("s"), notes)
    for human_key in ("", "/data/app", "/other/app"):
        people.add_project(slug="app", human_key=human_key, created_ts=_AT)

    assert [(one.key, one.human_key) for one in people.projects.values()] == [("app", "/data/app")]
    (note,) = notes.notes()
    assert note.text.startswith("Two directories have the slug app and share one project there, /data/app and /other")


def test_names_are_one_ignoring_letter_case_and_keep_their_first_form() -> None:
    people = SourcePeople(Path("s"), ReadingNotes())
    key = people.add_project(slug="app", human_key="", created_ts=_AT)
    first = people.add_person(key, "BlueLake", first_ts=Micros(9), last_ts=Micros(9))
    second = people.add_person(key, "bluelake", first_ts=Micros(3), last_ts=Micros(12))

    assert second is first
    assert (first.name, first.first_ts, first.last_ts) == ("BlueLake", 3, 12)
    assert people.person_named(key, "BLUELAKE") is first


def test_every_row_of_a_name_that_is_taken_for_another_agent_is_that_agents() -> None:
    people = SourcePeople(Path("s"), ReadingNotes())
    home, away = (people.add_project(slug=slug, human_key="", created_ts=_AT) for slug in ("home", "away"))
    real = people.add_person(home, "Blue", first_ts=_AT, last_ts=_AT, number=1)
    ghost = people.add_person(away, "Blue", first_ts=_AT, last_ts=_AT, number=2)
    people.numbers().update({1: real.key, 2: ghost.key, 3: ghost.key})

    people.take_for(2, real)

    assert [people.person(number) for number in (1, 2, 3)] == [real] * 3


def test_more_people_than_are_kept_in_mind_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people_module, "MOST_AGENTS", 2)
    people = SourcePeople(Path("s"), ReadingNotes())
    key = people.add_project(slug="app", human_key="", created_ts=_AT)

    for name in "ab":
        people.add_person(key, name, first_ts=_AT, last_ts=_AT)

    with pytest.raises(SourceUnreadable, match="more than 2 agents"):
        people.add_person(key, "c", first_ts=_AT, last_ts=_AT)


def test_more_projects_than_are_kept_in_mind_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people_module, "MOST_PROJECTS", 2)
    people = SourcePeople(Path("s"), ReadingNotes())

    for slug in "ab":
        people.add_project(slug=slug, human_key="", created_ts=_AT)

    with pytest.raises(SourceUnreadable, match="more than 2 projects"):
        people.add_project(slug="c", human_key="", created_ts=_AT)
