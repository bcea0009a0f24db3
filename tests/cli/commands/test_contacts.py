from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.cli.conftest import Post
from tests.cli.shell import Shell

_APART = "/code/asked"
"""Nobody else looks there."""


def test_a_request_that_waits_is_listed_once_from_its_target(at_leases: Shell) -> None:
    (of_all,) = at_leases.am("contacts", "requests", "--json").json()
    (of_one,) = at_leases.am("contacts", "requests", "RedStone", "--json").json()

    assert of_all == of_one
    assert (of_one["from"], of_one["to"], of_one["status"]) == ("GrayFox", "RedStone", "pending")
    assert at_leases.am("contacts", "requests", "GrayFox", "--json").json() == []


def test_a_link_is_seen_from_both_its_ends_and_once_among_all(at_leases: Shell) -> None:
    from_its_start = at_leases.am("contacts", "list", "GrayFox").lines()
    from_its_end = at_leases.am("contacts", "list", "RedStone").lines()
    of_all = at_leases.am("contacts", "list").lines()

    assert [line[:4] for line in from_its_start] == [["outbound", "GrayFox", "RedStone", "pending"]]
    assert [line[:4] for line in from_its_end] == [["inbound", "GrayFox", "RedStone", "pending"]]
    assert len(of_all) == 1
    assert of_all[0][1:4] == ["GrayFox", "RedStone", "pending"]


def test_the_operator_answers_in_an_agents_place(at_leases: Shell, post: Post) -> None:
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key=_APART)
        for name in ("BlueLake", "RedStone"):
            connection.call("register_agent", project_key=_APART, program="tests", model="none", name=name)
        connection.call("request_contact", project_key=_APART, from_agent="BlueLake", to_agent="RedStone")
    at_leases.set(AGENT_MAIL_PROJECT=_APART)

    approved = at_leases.am("contacts", "approve", "RedStone", "BlueLake", "--json").json()
    denied = at_leases.am("contacts", "deny", "RedStone", "BlueLake").lines()

    assert (approved["from"], approved["to"], approved["status"]) == ("BlueLake", "RedStone", "approved")
    assert ["status", "blocked"] in denied
    assert [line[1:4] for line in at_leases.am("contacts", "list", "RedStone").lines()] == [
        ["BlueLake", "RedStone", "blocked"]
    ]
    assert at_leases.am("contacts", "requests", "RedStone", "--json").json() == []


def test_an_answer_for_nobody_is_refused(at_leases: Shell) -> None:
    ended = at_leases.am("contacts", "approve", "NobodyHere", "GrayFox")

    assert ended.code != 0
    assert "NobodyHere" in ended.err


def test_whose_mail_an_agent_takes_is_set_for_it(either: Shell) -> None:
    closed = either.am("contacts", "policy", "RedStone", "contacts_only", "--json").json()
    opened = either.am("contacts", "policy", "RedStone", "auto")

    assert (closed["agent"], closed["policy"]) == ("RedStone", "contacts_only")
    assert (opened.code, opened.lines()) == (0, [["agent", "RedStone"], ["policy", "auto"]])


def test_a_policy_of_the_operators_is_recorded_as_no_agents(at_stopped: Shell, stopped_post: Post) -> None:
    at_stopped.am("contacts", "policy", "RedStone", "contacts_only")

    with closing(sqlite3.connect(stopped_post.server.root / "mail.sqlite3")) as database:
        (newest,) = database.execute("SELECT kind, agent_id FROM outbox ORDER BY seq DESC LIMIT 1").fetchall()
    assert newest == ("profile", None)


def test_a_policy_that_is_none_is_misuse(shell: Shell) -> None:
    assert shell.am("contacts", "policy", "RedStone", "sometimes").code == 2


def test_a_policy_of_nobody_is_refused(either: Shell) -> None:
    done = either.am("contacts", "policy", "NobodyHere", "open")

    assert (done.code, done.err.startswith("Error (NOT_FOUND)")) == (1, True)
