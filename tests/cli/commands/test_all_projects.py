"""What a person who stands in no project is told of all of them."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.cli.commands.all_projects import addressed_project
from tests.cli.conftest import Post
from tests.cli.shell import Shell


@pytest.fixture(scope="module")
def other(post: Post, tmp_path_factory: pytest.TempPathFactory) -> str:
    """One more project, whose thread `parser` and word are those of the shared one."""
    other = str(tmp_path_factory.mktemp("there") / "elsewhere")
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key=other)
        connection.call("register_agent", project_key=other, name="TealTapir", program="tests", model="none")
        for thread in ("parser", "tapirs"):
            connection.call(
                "send_message",
                project_key=other,
                sender_name="TealTapir",
                to=["Human"],
                subject="A quokka's parser",
                body_md="x",
                thread_id=thread,
            )
    return other


@pytest.fixture
def outside(at_post: Shell, other: str) -> Shell:
    """Nowhere, beside the shared project and the other one."""
    assert other
    at_post.unset("AGENT_MAIL_PROJECT")
    return at_post


def subjects(found: Any) -> set[tuple[str, str]]:
    return {(message["project"], message["subject"]) for message in found["result"]}


@pytest.mark.parametrize("order", ["relevance", "newest", "oldest"])
def test_a_search_finds_in_every_project_and_says_in_which(outside: Shell, post: Post, other: str, order: str) -> None:
    found = outside.am("mail", "search", "parser", "--order", order, "--limit", "1000", "--json").json()
    one = outside.am("mail", "search", "quokka", "--limit", "1").lines()

    assert (post.project, "Who takes the parser?") in subjects(found)
    assert (other, "A quokka's parser") in subjects(found)
    times = [message["created_ts"] for message in found["result"]]
    assert order == "relevance" or times == sorted(times, reverse=order == "newest")
    assert len(one) == 1
    assert one[0][2].endswith("/elsewhere")


def test_a_thread_is_found_in_the_project_that_has_it(outside: Shell, post: Post) -> None:
    assert "A quokka's parser" in outside.am("mail", "thread", "tapirs").out
    assert "I have the lexer." in outside.am("mail", "thread", str(post.first_id)).out


def test_a_thread_of_several_projects_is_asked_for_by_project_and_one_of_none_is_refused(
    outside: Shell, post: Post
) -> None:
    several, none = outside.am("mail", "thread", "parser"), outside.am("mail", "thread", "no-such-thread")

    assert several.code == none.code == 1
    assert "--project with one of" in several.err
    assert post.project in several.err
    assert "Unknown project" in none.err


def test_mail_to_an_address_is_written_in_the_project_that_it_names(outside: Shell, other: str) -> None:
    sent = outside.am("mail", "send", "--to", f"TealTapir@{other}", "Hoot", "--json")
    unaddressed = outside.am("mail", "send", "--to", "TealTapir", "Hoot")

    (delivery,) = sent.json()["deliveries"]
    assert (delivery["project"], delivery["payload"]["to"]) == (other, ["TealTapir"])
    assert (unaddressed.code, "Unknown project" in unaddressed.err) == (1, True)


def test_a_project_that_was_named_is_not_given_up(outside: Shell) -> None:
    for command in (("search", "parser"), ("thread", "tapirs"), ("send", "--to", "TealTapir@x", "Hoot")):
        assert outside.am("mail", *command, "--project", "/nowhere/at/all").code == 1


@pytest.mark.parametrize(
    ("names", "project"),
    [
        (["A@app"], "app"),
        (["A@app", "B@app"], "app"),
        (["A@app", "B@lib"], None),
        (["A@app", "B"], None),
        (["A"], None),
    ],
)
def test_addresses_name_a_project_where_they_agree(names: list[str], project: str | None) -> None:
    assert addressed_project(names) == project


def test_what_is_held_is_listed_of_every_project_and_says_of_which(outside: Shell, leases: str) -> None:
    listed = outside.am("mail", "held", "--json").json()
    of_one = outside.am("mail", "held", "RedStone").lines()
    nobody = outside.am("mail", "held", "NobodyHere")

    assert (leases, "May I?") in {(message["project"], message["subject"]) for message in listed}
    assert [line[2] for line in of_one if "May I?" in line] == [leases]
    assert nobody.code != 0
    assert "NobodyHere" in nobody.err
