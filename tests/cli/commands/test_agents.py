from __future__ import annotations

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell


def test_agents_are_the_resource_of_the_same_name(at_post: Shell, post: Post) -> None:
    listed = at_post.am("agents", "list", "--json").json()

    with post.server.connect() as connection:
        resource = connection.call("read_resource", uri=f"resource://agents/{post.project.replace('/', '%2F')}")
    assert listed == resource
    assert {"BlueLake", "RedStone"} <= {agent["name"] for agent in resource["agents"]}


def test_an_agent_is_shown_with_its_commits(at_post: Shell, post: Post) -> None:
    post.server.await_drained()

    agent = at_post.am("agents", "show", "bluelake", "--json").json()
    lines = at_post.am("agents", "show", "bluelake").lines()

    assert agent["name"] == "BlueLake"
    assert ["name", "BlueLake"] in lines
    assert [line[0] for line in lines if len(line) == 3] == [commit["hexsha"] for commit in agent["recent_commits"]]
    assert agent["recent_commits"]


def test_who_is_listening_stands_in_the_list_and_with_the_agent(at_post: Shell, post: Post) -> None:
    session = {"project_key": post.project, "agent_name": "RedStone", "session": "s-1"}
    with post.server.connect() as connection:
        connection.call("heartbeat", **session, event="turn")
        try:
            listed = {line[0]: line[7] for line in at_post.am("agents", "list").lines()}
            as_json = {agent["name"]: agent for agent in at_post.am("agents", "list", "--json").json()["agents"]}
            at_work = at_post.am("agents", "show", "RedStone").lines()
            elsewhere = at_post.am("agents", "show", "BlueLake").lines()
        finally:
            connection.call("heartbeat", **session, event="end")

    assert (listed["RedStone"], listed["BlueLake"]) == ("hook", "")
    assert [as_json[name]["listening"] for name in ("RedStone", "BlueLake")] == [True, False]
    assert as_json["RedStone"]["busy_since"] is not None
    assert ["listening", "hook"] in at_work
    assert ["listening", "no"] in elsewhere
    assert [line[0] for line in at_work if line[0] == "busy_since"] == ["busy_since"]
    assert "busy_since" not in [line[0] for line in elsewhere]


def test_a_retired_agent_leaves_the_list_and_comes_back(at_post: Shell, post: Post) -> None:
    with post.server.connect() as connection:
        connection.call("register_agent", project_key=post.project, name="OldOak", program="tester", model="scripted")

    retired = at_post.am("agents", "retire", "OldOak").lines()
    listed = at_post.am("agents", "list").out
    all_listed = at_post.am("agents", "list", "--retired").lines()
    back = at_post.am("agents", "unretire", "OldOak").lines()

    assert (retired[0], back) == (
        ["retired", "OldOak"],
        [["name", "OldOak"], ["program", "tester"], ["model", "scripted"]],
    )
    assert "OldOak" not in listed
    assert {line[0]: line[5] for line in all_listed if line[0] in ("OldOak", "BlueLake")} == {
        "OldOak": "retired",
        "BlueLake": "",
    }
    assert "OldOak" in at_post.am("agents", "list").out


def test_retiring_as_json_is_what_the_tools_answer(at_post: Shell, post: Post) -> None:
    with post.server.connect() as connection:
        connection.call("register_agent", project_key=post.project, name="OldElm", program="tester", model="scripted")

    retired = at_post.am("agents", "retire", "OldElm", "--json").json()
    back = at_post.am("agents", "unretire", "OldElm", "--json").json()

    assert (retired["agent_name"], back["name"]) == ("OldElm", "OldElm")
    assert retired["retired_at"]


def test_an_agent_that_there_is_not_is_refused(at_post: Shell) -> None:
    done = at_post.am("agents", "show", "Nobody")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error (NOT_FOUND): ")


def test_what_an_agent_says_of_itself_is_shown_and_set(either: Shell) -> None:
    before = either.am("agents", "status", "BlueLake", "--json").json()
    set_to = either.am("agents", "status", "BlueLake", "busy", "--note", "until noon")
    after = either.am("agents", "status", "BlueLake")
    either.am("agents", "status", "BlueLake", "ready")

    assert (before["agent"], before["status"]) == ("BlueLake", "ready")
    assert (set_to.code, set_to.lines()) == (
        0,
        [["agent", "BlueLake"], ["status", "busy"], ["status_note", "until noon"]],
    )
    assert after.lines() == set_to.lines()
    assert either.am("agents", "status", "BlueLake").lines()[1:] == [["status", "ready"]]


def test_a_status_that_is_none_and_a_note_without_one_are_misuse(shell: Shell) -> None:
    assert shell.am("agents", "status", "BlueLake", "asleep").code == 2
    assert shell.am("agents", "status", "BlueLake", "--note", "why").code == 2


WINDOW = "0f0e0d0c-58a6-4c8e-9a0a-5d1b6f2a7c01"


def test_windows_are_listed_renamed_and_forgotten(at_post: Shell, post: Post) -> None:
    with post.server.connect(**{"X-Agent-Window": WINDOW}) as connection:
        connection.call("register_agent", project_key=post.project, program="p", model="m")

    listed = at_post.am("agents", "windows")
    renamed = at_post.am("agents", "rename-window", WINDOW, "SlowOwl")
    as_json = at_post.am("agents", "windows", "--json").json()
    gone = at_post.am("agents", "expire-window", WINDOW)

    (name,) = [line[1] for line in listed.lines() if line[0] == WINDOW]
    assert (renamed.code, renamed.lines()) == (0, [["window", WINDOW], ["name", "SlowOwl"], ["was", name]])
    assert [one["display_name"] for one in as_json["identities"] if one["window_uuid"] == WINDOW] == ["SlowOwl"]
    assert (gone.code, dict(gone.lines())["name"]) == (0, "SlowOwl")
    assert WINDOW not in at_post.am("agents", "windows").out


@pytest.mark.parametrize(
    "command", [("rename-window", WINDOW[:-1] + "2", "SlowOwl"), ("expire-window", WINDOW[:-1] + "2")]
)
def test_a_window_that_nobody_has_is_refused(either: Shell, command: tuple[str, ...]) -> None:
    done = either.am("agents", *command)

    assert (done.code, done.err.startswith("Error (NOT_FOUND)")) == (1, True)


def test_a_project_is_called_by_its_name(either: Shell) -> None:
    assert "BlueLake" in either.am("agents", "list", "--project", "shop").out
