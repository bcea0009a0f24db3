from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.shell import Shell

OTHER = "/code/warehouse"


@pytest.fixture
def storefront(either: Shell) -> Shell:
    """The product `storefront`: the project of the mail, and another where BlueLake wrote to RedStone and Human."""
    either.call("ensure_project", human_key=OTHER)
    for name in ("BlueLake", "RedStone"):
        either.call("register_agent", project_key=OTHER, program="p", model="m", name=name)
    either.call(
        "send_message",
        project_key=OTHER,
        sender_name="BlueLake",
        to=["RedStone", "Human"],
        subject="Shelves",
        body_md="The quantity is wrong.",
        thread_id="parser",
    )
    assert either.am("products", "ensure", "storefront").code == 0
    assert either.am("products", "link", "storefront").code == 0
    assert either.am("products", "link", "storefront", "--project", OTHER).code == 0
    return either


def test_a_product_is_made_once_and_shown_with_its_projects(storefront: Shell) -> None:
    again = storefront.am("products", "ensure", "Storefront", "--json").json()
    shown = storefront.am("products", "show", "storefront")
    as_json = storefront.am("products", "show", again["product_uid"], "--json").json()

    home = storefront.context().settings.agent_mail_project
    assert again["name"] == "storefront"
    assert ["name", "storefront"] in shown.lines()
    assert [line[2] for line in shown.lines()[3:]] == [home, OTHER]
    assert [one["human_key"] for one in as_json["projects"]] == [home, OTHER]


def test_linking_again_changes_nothing(storefront: Shell) -> None:
    again = storefront.am("products", "link", "storefront", "--project", OTHER)

    assert (again.code, again.lines()) == (0, [["product", "storefront"], ["project", OTHER]])


def test_the_mail_of_all_its_projects_is_searched(storefront: Shell) -> None:
    found = storefront.am("products", "search", "storefront", "quantity OR lexer")
    newest = storefront.am("products", "search", "storefront", "quantity", "--json").json()

    home = storefront.context().settings.agent_mail_project
    # Other tests write to the same project, before this one or after it.
    assert found.code == 0
    assert {(line[2], line[5]) for line in found.lines()} >= {(OTHER, "Shelves"), (home, "Who takes the parser?")}
    assert {one["project"] for one in newest["result"]} == {OTHER}


def test_the_inbox_of_a_name_is_that_of_all_its_projects(storefront: Shell) -> None:
    of_human = storefront.am("products", "inbox", "storefront")
    of_agent = storefront.am("products", "inbox", "storefront", "RedStone", "--limit", "1", "--json").json()

    assert of_human.code == 0
    assert {(OTHER, "Shelves"), (storefront.context().settings.agent_mail_project, "Who takes the parser?")} <= {
        (line[2], line[7]) for line in of_human.lines()
    }
    assert [(one["project"], one["subject"]) for one in of_agent] == [(OTHER, "Shelves")]


def test_a_thread_is_summarized_over_all_its_projects(storefront: Shell) -> None:
    done = storefront.am("products", "summary", "storefront", "parser", "--no-llm")

    told = dict(done.lines())
    assert (done.code, told["thread"]) == (0, "parser")
    assert int(told["messages"]) >= 3


def test_of_an_unknown_product_the_operator_is_told_which_there_are(storefront: Shell) -> None:
    for command in ("show", "inbox", "link"):
        done = storefront.am("products", command, "zzzzzzzzzzzz")

        assert done.code == 1
        assert "storefront" in done.err


_UNKNOWN: dict[str, Callable[[str], tuple[str, ...]]] = {
    "link": lambda key: ("link", key),
    "show": lambda key: ("show", key),
    "search": lambda key: ("search", key, "words"),
    "inbox": lambda key: ("inbox", key),
    "summary": lambda key: ("summary", key, "parser"),
}


@pytest.mark.parametrize("command", _UNKNOWN)
def test_a_product_that_is_none_is_refused_with_the_command_that_makes_one(either: Shell, command: str) -> None:
    done = either.am("products", *_UNKNOWN[command]("nothing-of-it"))

    assert (done.code, done.out, done.err.startswith("Error (NOT_FOUND): Unknown product")) == (1, "", True)
    assert "am products ensure" in done.err
