from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Post
from tests.cli.shell import Shell


@pytest.fixture
def told(at_post: Shell, post: Post) -> Shell:
    """Beside a running server whose archives have caught up."""
    post.server.await_drained()
    return at_post


def test_a_message_is_told_beside_a_server_with_its_commits(told: Shell, post: Post) -> None:
    answer = told.am("history", "message", str(post.first_id), "--json").json()

    log = post.server.am("archive", "log", "--project", post.project, "--limit", "1000", "--json")
    assert [(one["event"], one["agent"]) for one in answer["events"]][:3] == [
        ("sent", "BlueLake"),
        ("delivered", "RedStone"),
        ("delivered", "Human"),
    ]
    assert answer["events"][0]["commit"] in [commit["hexsha"][:12] for commit in json.loads(log.stdout)]


def test_a_message_is_a_line_of_cells_for_each_event_when_piped_and_says_what_is_left_out(
    told: Shell, post: Post
) -> None:
    ended = told.am("history", "message", str(post.first_id), "--limit", "1")

    ((_, event, agent, commit, archive),) = ended.lines()
    assert (ended.code, event, agent, len(commit), archive) == (0, "sent", "BlueLake", 12, post.archive().name)
    assert "later events were left out" in ended.err


def test_a_message_that_was_replaced_and_the_one_that_replaces_it_name_each_other(told: Shell, post: Post) -> None:
    def send(*more: str) -> str:
        sent = told.am("mail", "send", "--from", "BlueLake", "--to", "RedStone", "-s", "Plan", "x", "--json", *more)
        return str(sent.json()["deliveries"][0]["payload"]["id"])

    old = send()
    newer = send("--supersedes", old)
    post.server.await_drained()

    of_old, of_newer = (told.am("history", "message", number).lines() for number in (old, newer))

    assert [line[1:3] for line in of_old][2:] == [[f"withdrawn, replaced by {newer}", "RedStone"]]
    assert of_newer[0][1:3] == [f"sent, replaces {old}", "BlueLake"]
    assert of_old[2][3] == of_newer[0][3] != ""
    (event,) = [one for one in told.am("history", "message", old, "--json").json()["events"] if "superseded_by" in one]
    assert (event["event"], event["superseded_by"]) == ("withdrawn", int(newer))


def test_an_agent_is_told_from_the_archive_without_a_server(at_stopped: Shell) -> None:
    answer = at_stopped.am("history", "agent", "bluelake", "--json").json()

    (joined,) = answer["events"]
    assert (answer["agent"], joined["event"], joined["program"]) == ("BlueLake", "joined", "tester")
    assert joined["commit"]


def test_an_inbox_of_then_is_that_of_now_where_nothing_came_since(at_stopped: Shell, stopped_post: Post) -> None:
    then = at_stopped.am("history", "inbox", "RedStone", "--at", "2100-01-01", "--json").json()

    now = at_stopped.call("fetch_inbox", project_key=stopped_post.project, agent_name="RedStone", include_bodies=True)
    assert min(item.pop("age_s") for item in then) > max(item.pop("age_s") for item in now)
    assert then == now
    assert at_stopped.am("history", "inbox", "RedStone", "--at", "2000-01-01").out == ""


def test_who_held_a_file_is_told_newest_first(at_stopped: Shell, stopped_post: Post) -> None:
    own = {"project_key": stopped_post.project, "agent_name": "BlueLake"}
    at_stopped.call("file_reservation_paths", **own, paths=["src/**"], reason="the lexer")
    at_stopped.call("release_file_reservations", **own)

    ended = at_stopped.am("history", "file", "src/lexer.py")

    ((_, agent, pattern, exclusive, _, until, how, reason),) = ended.lines()
    assert (agent, pattern, exclusive, bool(until), how, reason) == (
        "BlueLake",
        "src/**",
        "yes",
        True,
        "release",
        "the lexer",
    )


@pytest.mark.parametrize(
    ("command", "fact", "hint"),
    [
        (("message", "999999"), "No message 999999", "am mail inbox"),
        (("agent", "Nobody"), "No agent named 'Nobody'", "BlueLake"),
        (("agent", "BlueLake", "--project", "/nowhere"), "Unknown project: /nowhere", "am projects list"),
        (("file", "/elsewhere/a.py"), "/elsewhere/a.py", ""),
    ],
)
def test_what_is_not_there_is_refused_with_the_next_command(
    told: Shell, command: tuple[str, ...], fact: str, hint: str
) -> None:
    ended = told.am("history", *command)

    assert (ended.code, ended.out) == (1, "")
    assert fact in ended.err
    assert hint in ended.err


def test_outside_of_any_project_the_only_agent_of_a_name_is_meant(shell: Shell, stopped_post: Post) -> None:
    shell.set(STORAGE_ROOT=str(stopped_post.server.root))

    assert shell.am("history", "agent", "RedStone", "--json").json()["agent"] == "RedStone"
    assert "--project" in shell.am("history", "agent", "NoSuchName").err


def test_without_a_store_there_is_nothing_to_look_back_at(shell: Shell) -> None:
    ended = shell.am("history", "message", "1")

    assert ended.code == 69
    assert "There is no store" in ended.err


def test_where_several_projects_have_the_name_they_are_listed(shell: Shell, stopped_post: Post) -> None:
    shell.set(STORAGE_ROOT=str(stopped_post.server.root))
    shell.call("ensure_project", human_key="/code/twin")
    shell.call("register_agent", project_key="/code/twin", name="RedStone", program="tester", model="scripted")

    ended = shell.am("history", "inbox", "RedStone", "--at", "2030-01-01")

    assert ended.code == 1
    assert "RedStone is an agent of 2 projects" in ended.err
    assert "--project" in ended.err


def test_the_past_of_an_agent_goes_on_in_the_project_that_took_its_own_in(
    at_stopped: Shell, stopped_post: Post
) -> None:
    at_stopped.call("ensure_project", human_key="/code/taker")
    at_stopped.am("projects", "adopt", stopped_post.project, "/code/taker", "--apply")

    answer = at_stopped.am("history", "agent", "RedStone", "--project", "/code/taker", "--json").json()
    told = at_stopped.am("history", "message", str(stopped_post.first_id), "--json").json()

    assert [one["event"] for one in answer["events"]] == ["moved", "joined"]
    assert len({one["ts"] for one in answer["events"]}) == 2
    assert all(one["commit"] for one in (*answer["events"], *told["events"]))
    assert len({one["archive"] for one in told["events"]}) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("message", "abc"), "ID must be a whole number, not 'abc'"),
        (("message", "0"), "which is no id"),
        (("inbox", "RedStone", "--at", "yesterday"), "Send ISO 8601, like 2026-01-31T09:30:00Z, or epoch seconds."),
    ],
)
def test_what_is_no_id_or_no_time_is_misuse(shell: Shell, words: tuple[str, ...], told: str) -> None:
    ended = shell.am("history", *words)

    assert ended.code == 2
    assert told in ended.err
