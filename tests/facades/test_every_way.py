"""Each way into the server writes to each, and is answered: one store, receipt, archive and search for all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.facades.correspondents import AgentMailCommand, Correspondent, Mail, Server, begin, correspondents

QUESTION, ANSWER = "question", "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What everybody was given, by who it was, in the order in which it was taken."""

    server: Server
    people: list[Correspondent]
    pairs: list[tuple[Correspondent, Correspondent]]
    questions: dict[str, list[Mail]]
    answers: dict[str, list[Mail]]


def may_write(sender: Correspondent, to: Correspondent) -> bool:
    """AgentMail's command refuses oneself, as it always has."""
    return not (isinstance(sender, AgentMailCommand) and sender is to)


def text_of(kind: str, sender: Correspondent, to: Correspondent) -> str:
    """The first line is the subject where mail has one."""
    return f"{kind} of {sender.way} for {to.way}\n\n  Ünïcode, `code` and a trailing blank: \n"


def take_all(person: Correspondent) -> list[Mail]:
    """Until nothing waits; more is never given than there is."""
    taken: list[Mail] = []
    while given := person.take():
        taken += given
        assert len(taken) <= 100, taken
    return taken


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    root = tmp_path_factory.mktemp("ways").resolve()
    with begin(root) as served:
        server = Server(served, str(root / "work"))
        people = correspondents(server, AgentMailCommand)
        pairs = [(sender, to) for sender in people for to in people if may_write(sender, to)]
        for sender, to in pairs:
            sender.send(to.name, text_of(QUESTION, sender, to))
        questions = {person.way: take_all(person) for person in people}
        by_name = {person.name: person for person in people}
        for person in people:
            for mail in questions[person.way]:
                person.send(mail.sender, text_of(ANSWER, person, by_name[mail.sender]))
        answers = {person.way: take_all(person) for person in people}
        served.await_drained()
        yield Exchange(server=server, people=people, pairs=pairs, questions=questions, answers=answers)


def test_each_is_given_what_each_wrote_once_word_for_word_and_in_order(exchange: Exchange) -> None:
    for to in exchange.people:
        expected = [
            Mail(sender=one.name, text=text_of(QUESTION, one, to)) for one in exchange.people if may_write(one, to)
        ]

        assert exchange.questions[to.way] == expected, to.way


def test_each_is_answered_by_each(exchange: Exchange) -> None:
    for asked in exchange.people:
        expected = [
            Mail(sender=one.name, text=text_of(ANSWER, one, asked)) for one in exchange.people if may_write(asked, one)
        ]

        assert exchange.answers[asked.way] == expected, asked.way


def test_every_message_has_its_receipt(exchange: Exchange) -> None:
    pairs = len(exchange.pairs)
    statuses = [
        exchange.server.call("message_status", message_id=number, agent_name=exchange.people[0].name)["recipients"]
        for number in range(1, 2 * pairs + 1)
    ]

    told = [
        (len(recipients), recipients[0]["status"] in ("read", "acknowledged", "answered")) for recipients in statuses
    ]
    assert told == [(1, True)] * 2 * pairs


def test_a_search_finds_all_of_them(exchange: Exchange) -> None:
    for kind in (QUESTION, ANSWER):
        found = exchange.server.call("search_messages", query=kind, limit=100)["result"]

        assert len(found) == len(exchange.pairs), kind


def test_all_of_it_is_in_the_archive_and_the_store_is_sound(exchange: Exchange) -> None:
    served = exchange.server.served
    bodies = [path for archive in served.archives() for path in archive.glob("messages/*/*/*/*.md")]
    verified = json.loads(served.am("doctor", "verify", "--json").stdout)

    assert len(bodies) == 2 * len(exchange.pairs)
    assert (verified["clean"], verified["findings"]) == (True, [])
