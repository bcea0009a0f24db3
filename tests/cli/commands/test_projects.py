from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.domain.project_identity import DISCOVERY_FILE, MARKER_FILE
from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.workspace.code_repository import begin


def test_projects_are_the_resource_of_the_same_name(at_post: Shell, post: Post) -> None:
    listed = at_post.am("projects", "list", "--json").json()

    with post.server.connect() as connection:
        assert listed == connection.call("read_resource", uri="resource://projects")


def test_a_project_is_shown_by_slug_with_its_agents(at_post: Shell, post: Post) -> None:
    slug = at_post.am("projects", "list").lines()[0][1]

    found = at_post.am("projects", "show", slug, "--json").json()
    lines = at_post.am("projects", "show", slug).lines()

    assert found["human_key"] == post.project
    assert "BlueLake" in {agent["name"] for agent in found["agents"]}
    assert lines[1:3] == [["slug", slug], ["human_key", post.project]]
    assert "BlueLake" in {line[0] for line in lines}


def test_an_archived_project_refuses_mail_until_it_is_back(at_stopped: Shell, stopped_post: Post) -> None:
    project = stopped_post.project
    send = ("mail", "send", "--to", "RedStone", "-s", "x", "y")

    archived = at_stopped.am("projects", "archive", project, "--json").json()
    refused = at_stopped.am(*send)
    listed = at_stopped.am("projects", "list").out
    listed_with_archived = at_stopped.am("projects", "list", "--archived").lines()
    back = dict(at_stopped.am("projects", "unarchive", project).lines())
    sent = at_stopped.am(*send)

    assert (archived["archived"], back["archived"]) == (True, "no")
    assert (refused.code, sent.code) == (1, 0)
    assert listed == ""
    assert [line[3] for line in listed_with_archived] == ["archived"]


def test_a_code_lets_one_new_agent_in_and_can_be_taken_back_before(at_post: Shell, post: Post) -> None:
    project = str(at_post.home / "invited")
    profile = {"project_key": project, "program": "tester", "model": "scripted"}
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key=project)
        none = at_post.am("projects", "codes", project)

        invited = dict(at_post.am("projects", "invite", project, "--hours", "1").lines())
        spare = at_post.am("projects", "invite", project, "--json").json()
        other = at_post.am("projects", "invite", project, "--json").json()
        revoked = at_post.am("projects", "revoke-code", project, str(spare["id"]))
        revoked_as_json = at_post.am("projects", "revoke-code", project, str(other["id"]), "--json")

        came = connection.call("register_agent", name="NewComer", registration_token=invited["join_code"], **profile)
        late = connection.rpc("register_agent", {"registration_token": spare["join_code"], **profile})
    listed = at_post.am("projects", "codes", project).lines()
    listed_as_json = at_post.am("projects", "codes", project, "--json").json()

    assert (none.code, none.out) == (0, "")
    assert (came["name"], late.error_type) == ("NewComer", "PERMISSION_DENIED")
    assert revoked.lines() == [["id", str(spare["id"])], ["revoked", "yes"]]
    assert revoked_as_json.json()["id"] == other["id"]
    assert [(line[0], line[1], line[-1]) for line in listed] == [(invited["id"], "used", "NewComer")]
    assert [code["id"] for code in listed_as_json] == [int(invited["id"])]


@pytest.mark.parametrize("hours", ["0", "-1", "721"])
def test_the_hours_of_an_invitation_are_refused_by_the_options_own_name(hours: str, shell: Shell) -> None:
    done = shell.am("projects", "invite", "/code/app", "--hours", hours)

    assert done.code == 2
    assert f"Invalid value for '--hours': {hours} is out of range: 1 to 720." in done.err


@pytest.mark.parametrize("way", [(), ("--apply",)])
def test_without_a_store_nothing_can_be_adopted(way: tuple[str, ...], shell: Shell) -> None:
    done = shell.am("projects", "adopt", "/code/old", "/code/new", *way)

    assert done.code == 69
    assert done.err.startswith(f"Error (UNAVAILABLE): There is no store in {shell.home}/.mcp_agent_mail.")
    assert not (shell.home / ".mcp_agent_mail").exists()


def test_an_adoption_is_planned_before_it_is_done(at_stopped: Shell, stopped_post: Post) -> None:
    at_stopped.call("ensure_project", human_key="/code/taker")
    adopt = ("projects", "adopt", stopped_post.project, "/code/taker")

    planned = at_stopped.am(*adopt)
    planned_as_json = at_stopped.am(*adopt, "--json").json()
    done = at_stopped.am(*adopt, "--apply")

    (left,) = at_stopped.am("projects", "list").lines()
    assert (planned.code, done.code) == (0, 0)
    assert "Nothing was changed" in planned.out
    assert (planned_as_json["applied"], planned_as_json["agents"], planned_as_json["messages"]) == (False, 2, 3)
    assert "Nothing was changed" not in done.out
    assert ["applied", "yes"] in done.lines()
    assert left[-1] == "/code/taker"


def test_an_adoption_that_is_not_in_git_yet_is_told_with_its_problem(at_stopped: Shell, stopped_post: Post) -> None:
    slug = at_stopped.call("ensure_project", human_key="/code/taker")["slug"]
    adopt = ("projects", "adopt", stopped_post.project, "/code/taker", "--apply")
    at_stopped.am(*adopt)
    archive = stopped_post.server.root / "projects" / slug
    shutil.rmtree(archive)
    archive.write_text("no folder")
    at_stopped.am("mail", "send", "--to", "BlueLake", "-s", "x", "y", "--project", "/code/taker")

    again = at_stopped.am(*adopt)

    assert again.code == 1
    assert slug in dict(again.lines())["problem"]


def test_a_repository_is_marked_and_what_the_marker_says_is_told(at_post: Shell) -> None:
    code = begin(at_post.home / "marked")

    told = dict(at_post.am("projects", "mark-identity", str(code)).lines())
    discovery = dict(at_post.am("projects", "discovery-init", str(code)).lines())

    assert (told["file"], told["written"], told["human_key"]) == (f"{code}/{MARKER_FILE}", "yes", str(code))
    assert told["project_uid"] in (code / MARKER_FILE).read_text()
    assert (discovery["file"], discovery["project_uid"]) == (f"{code}/{DISCOVERY_FILE}", told["project_uid"])


def test_the_project_of_a_folder_is_made_once(either: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    either.go_to(tmp_path)

    made = either.am("projects", "ensure", "fresh")
    either.go_to(folder)
    again = either.am("projects", "ensure", "--json").json()

    told = dict(made.lines())
    assert (made.code, told["human_key"]) == (0, str(folder))
    assert (str(again["id"]), again["slug"], again["human_key"]) == (told["id"], told["slug"], str(folder))
    assert list(folder.iterdir()) == []


def test_what_speaks_against_a_folder_is_said(either: Shell, tmp_path: Path) -> None:
    done = either.am("projects", "ensure", str(tmp_path / "not-there"))

    assert (done.code, "Hint: " in done.err) == (0, True)
