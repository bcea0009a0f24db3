from __future__ import annotations

from tests.cli.shell import Shell


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


def test_the_operator_answers_in_an_agents_place(at_leases: Shell) -> None:
    approved = at_leases.am("contacts", "approve", "GrayFox", "RedStone", "--json").json()
    denied = at_leases.am("contacts", "deny", "GrayFox", "RedStone").lines()

    assert (approved["from"], approved["to"], approved["status"]) == ("GrayFox", "RedStone", "approved")
    assert ["status", "blocked"] in denied
    assert at_leases.am("contacts", "list").lines()[0][1:4] == ["GrayFox", "RedStone", "blocked"]
    assert at_leases.am("contacts", "requests", "--json").json() == []


def test_an_answer_for_nobody_is_refused(at_leases: Shell) -> None:
    ended = at_leases.am("contacts", "approve", "GrayFox", "NobodyHere")

    assert ended.code != 0
    assert "NobodyHere" in ended.err
