"""`am agents`, `am projects` and `am token`."""

from __future__ import annotations

import json

from tests.cli.conftest import Post


def test_agents_are_the_resource_of_the_same_name(post: Post) -> None:
    done = post.server.am("agents", "list", "--project", post.project, "--json")

    with post.server.connect() as connection:
        resource = connection.call("read_resource", uri=f"resource://agents/{post.project.replace('/', '%2F')}")
    assert json.loads(done.stdout) == resource
    assert {"BlueLake", "RedStone"} <= {agent["name"] for agent in resource["agents"]}


def test_an_agent_is_shown_with_its_commits(post: Post) -> None:
    post.server.await_drained()

    done = post.server.am("agents", "show", "bluelake", "--project", post.project, "--json")

    agent = json.loads(done.stdout)
    assert agent["name"] == "BlueLake"
    assert agent["recent_commits"]


def test_a_retired_agent_leaves_the_list_and_comes_back(post: Post) -> None:
    with post.server.connect() as connection:
        connection.call("register_agent", project_key=post.project, name="OldOak", program="tester", model="scripted")

    retired = post.server.am("agents", "retire", "OldOak", "--project", post.project)
    listed = post.server.am("agents", "list", "--project", post.project).stdout
    all_listed = post.server.am("agents", "list", "--retired", "--project", post.project).stdout
    back = post.server.am("agents", "unretire", "OldOak", "--project", post.project)

    assert (retired.returncode, back.returncode) == (0, 0)
    assert "OldOak" not in listed
    assert [line.split("\t")[5] for line in all_listed.splitlines() if line.startswith("OldOak")] == ["retired"]
    assert "OldOak" in post.server.am("agents", "list", "--project", post.project).stdout


def test_projects_are_the_resource_of_the_same_name(post: Post) -> None:
    done = post.server.am("projects", "list", "--json")

    with post.server.connect() as connection:
        resource = connection.call("read_resource", uri="resource://projects")
    assert json.loads(done.stdout) == resource


def test_a_project_is_shown_by_slug_with_its_agents(post: Post) -> None:
    slug = post.server.am("projects", "list").stdout.split("\t")[1]

    shown = json.loads(post.server.am("projects", "show", slug, "--json").stdout)

    assert shown["human_key"] == post.project
    assert "BlueLake" in {agent["name"] for agent in shown["agents"]}


def test_an_archived_project_refuses_mail_until_it_is_back(stopped_post: Post) -> None:
    server, project = stopped_post.server, stopped_post.project
    send = ("mail", "send", "--to", "RedStone", "-s", "x", "y", "--project", project)

    archived = server.am("projects", "archive", project)
    refused = server.am(*send)
    listed = server.am("projects", "list").stdout
    listed_with_archived = server.am("projects", "list", "--archived").stdout
    back = server.am("projects", "unarchive", project)
    sent = server.am(*send)

    assert (archived.returncode, refused.returncode, back.returncode, sent.returncode) == (0, 1, 0, 0)
    assert listed == ""
    assert listed_with_archived.split("\t")[3] == "archived"


def test_a_lost_token_is_replaced_and_the_old_one_is_void(stopped_post: Post) -> None:
    server, project = stopped_post.server, stopped_post.project

    answer = json.loads(server.am("token", "reissue", "BlueLake", "--project", project, "--json").stdout)
    token = answer["registration_token"]
    again = json.loads(server.am("token", "reissue", "BlueLake", "--project", project, "--json").stdout)

    status = {"project_key": project, "agent_name": "BlueLake", "status": "busy"}
    with server, server.connect() as connection:
        old = connection.rpc("set_status", status, **{"X-Agent-Token": token})
        new = connection.rpc("set_status", status, **{"X-Agent-Token": again["registration_token"]})
    assert (old.error_type, new.error_type) == ("PERMISSION_DENIED", "OK")


def test_the_history_of_the_archive_names_who_acted(post: Post) -> None:
    post.server.await_drained()

    commits = json.loads(post.server.am("archive", "log", "--project", post.project, "--json").stdout)
    of_stone = post.server.am("archive", "log", "--project", post.project, "--agent", "redstone").stdout

    assert commits[0]["last_seq"] > commits[-1]["last_seq"] or len(commits) == 1
    assert any("BlueLake" in commit["agents"] for commit in commits)
    assert all("RedStone" in line.split("\t")[2].split(", ") for line in of_stone.splitlines())
    assert of_stone


def test_a_code_lets_one_new_agent_in_and_can_be_taken_back_before(stopped_post: Post) -> None:
    server, project = stopped_post.server, stopped_post.project

    invited = json.loads(server.am("projects", "invite", project, "--hours", "1", "--json").stdout)
    with server, server.connect() as connection:
        spare = json.loads(server.am("projects", "invite", project, "--json").stdout)
        revoked = server.am("projects", "revoke-code", project, str(spare["id"]))
        profile = {"project_key": project, "program": "tester", "model": "scripted"}
        came = connection.call("register_agent", name="NewComer", registration_token=invited["join_code"], **profile)
        late = connection.rpc("register_agent", {"registration_token": spare["join_code"], **profile})
        listed = server.am("projects", "codes", project).stdout

    assert (came["name"], revoked.returncode, late.error_type) == ("NewComer", 0, "PERMISSION_DENIED")
    (row,) = listed.splitlines()
    assert (row.split("\t")[1], row.split("\t")[-1]) == ("used", "NewComer")
