"""Two projects of one repository's work trees become one, with a real server before and after."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.served import Connection, Served, git
from tests.workspace import code_repository

PROFILE = {"program": "tests", "model": "none"}


@dataclass(frozen=True, kw_only=True)
class House:
    """Projects of a checkout and of its work tree, and a third one that writes to both."""

    server: Served
    main: dict[str, Any]
    feature: dict[str, Any]
    other: dict[str, Any]
    letter: int
    across: int

    def archive(self, project: dict[str, Any]) -> Path:
        return self.server.root / "projects" / str(project["slug"])


def register(connection: Connection, project: dict[str, Any], *names: str) -> None:
    for name in names:
        connection.call("register_agent", project_key=project["slug"], name=name, **PROFILE)
        connection.call("set_contact_policy", project_key=project["slug"], agent_name=name, policy="open")


def send(connection: Connection, project: dict[str, Any], sender: str, *to: str, **more: Any) -> int:
    answer = connection.call(
        "send_message",
        project_key=project["slug"],
        sender_name=sender,
        to=list(to),
        **{"subject": "Plan", "body_md": "zebra plans", **more},
    )
    return int(answer["deliveries"][0]["payload"]["id"])


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    code = code_repository.begin(tmp_path / "code")
    code_repository.write(code, "src/app.py")
    code_repository.commit(code)
    code_repository.git(code, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "feature"))
    (tmp_path / "store").mkdir(mode=0o700)
    with Served(tmp_path / "store", HOME=str(tmp_path)) as server, server.connect() as connection:
        paths = (code, tmp_path / "feature", Path("/code/other"))
        main, feature, other = (connection.call("ensure_project", human_key=str(path)) for path in paths)
        register(connection, main, "BlueLake", "RedStone")
        register(connection, feature, "GreenCastle", "PinkHill")
        register(connection, other, "QuietFox")
        send(connection, main, "BlueLake", "RedStone", thread_id="parser")
        letter = send(connection, feature, "GreenCastle", "PinkHill", "Human", thread_id="lexer", ack_required=True)
        connection.call("acknowledge_message", project_key=feature["slug"], agent_name="PinkHill", message_id=letter)
        across = send(connection, other, "QuietFox", f"GreenCastle@{feature['slug']}", f"BlueLake@{main['slug']}")
        send(connection, feature, "GreenCastle", f"BlueLake@{main['slug']}", cc=[f"QuietFox@{other['slug']}"])
        for project, agent, source in ((other, "QuietFox", feature), (main, "BlueLake", feature)):
            connection.call(
                "request_contact",
                project_key=project["slug"],
                from_agent=agent,
                to_agent="PinkHill",
                to_project=source["slug"],
            )
        for agent, paths_ in (("GreenCastle", ["src/"]), ("PinkHill", ["docs/"])):
            connection.call(
                "file_reservation_paths", project_key=feature["slug"], agent_name=agent, paths=paths_, ttl_seconds=7200
            )
        connection.call("release_file_reservations", project_key=feature["slug"], agent_name="PinkHill")
        connection.call("acquire_build_slot", project_key=feature["slug"], agent_name="PinkHill", slot="tests")
        server.await_drained()
        yield House(server=server, main=main, feature=feature, other=other, letter=letter, across=across)


def tracked(archive: Path) -> list[str]:
    return git(archive, "ls-tree", "-r", "--name-only", "main").split()


def am(house: House, *arguments: str, expect: int = 0) -> dict[str, Any]:
    done = house.server.am(*arguments, "--json")
    assert done.returncode == expect, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout.strip() else {"error": done.stderr}
    return answer


def require_clean(house: House) -> None:
    assert am(house, "doctor", "verify")["findings"] == []
    checked = house.server.am("doctor", "check")
    assert checked.returncode == 0, checked.stdout


def test_two_projects_become_one_with_history_names_and_clean_archives(house: House) -> None:
    files = tracked(house.archive(house.feature))
    letter = next(path for path in files if path.startswith("messages/") and path.endswith(f"__{house.letter}.md"))
    before = git(house.archive(house.feature), "log", "--format=%H", "--", letter).split()
    planned = am(house, "projects", "adopt", house.feature["slug"], house.main["slug"])
    refused = house.server.am("projects", "adopt", house.feature["slug"], house.main["slug"], "--apply")
    house.server.stop()
    require_clean(house)

    done = am(house, "projects", "adopt", house.feature["slug"], house.main["slug"], "--apply")

    assert (planned["applied"], planned["agents"], planned["live_leases"], planned["neighbours"]) == (False, 2, 2, 1)
    assert refused.returncode != 0
    assert str(house.server.port) in refused.stderr
    assert (done["applied"], done["problem"], done["agents"]) == (True, None, 2)
    require_clean(house)
    archive = house.archive(house.main)
    history = git(archive, "log", "--follow", "--format=%H", "--", letter).split()
    assert len(before) == 1
    assert set(before) <= set(history)
    assert len(git(archive, "log", "--grep=^adopt: ", "--format=%P", "main").split()) == 2
    assert git(archive, "status", "--porcelain") == ""
    assert git(house.archive(house.other), "status", "--porcelain") == ""
    assert f'"project_slug": "{house.main["slug"]}"' in (archive / letter).read_text()
    assert set(files) - set(tracked(archive)) == {
        path for path in files if path.startswith("contacts/") and "@" in path and "QuietFox" not in path
    }
    assert not house.archive(house.feature).exists()
    assert json.loads((archive / "archive.json").read_text())["project"]["aliases"] != []


def test_afterwards_every_former_name_works_in_a_running_server(house: House) -> None:
    house.server.stop()
    uid = am(house, "projects", "mark-identity", "--private", str(house.feature["human_key"]))["project_uid"]
    am(house, "projects", "adopt", house.feature["slug"], house.main["slug"], "--apply")

    house.server.start()

    with house.server.connect() as connection:
        for name in (house.feature["slug"], house.feature["human_key"], uid, house.main["slug"]):
            inbox = connection.call("fetch_inbox", project_key=name, agent_name="PinkHill", include_bodies=True)
            assert inbox[-1]["id"] == house.letter, name
        found = connection.call("search_messages", project_key=house.main["slug"], query="zebra")["result"]
        assert {item["id"] for item in found} >= {house.letter, house.across}
        again = connection.call("ensure_project", human_key=house.feature["human_key"])
        assert again["slug"] == house.main["slug"]
        send(connection, house.feature, "PinkHill", "BlueLake", thread_id="lexer")
        held = connection.read(f"resource://file_reservations/{house.feature['slug']}")
        assert [lease["agent"] for lease in held] == ["GreenCastle"]
        house.server.await_drained()
    house.server.stop()
    require_clean(house)
    assert am(house, "projects", "adopt", house.feature["slug"], house.main["slug"], "--apply")["problem"] is None


def test_clashes_are_refused_by_name_and_change_nothing(house: House) -> None:
    with house.server.connect() as connection:
        register(connection, house.feature, "bluelake")
        send(connection, house.feature, "GreenCastle", "PinkHill", thread_id="parser")
        house.server.await_drained()
    house.server.stop()

    done = house.server.am("projects", "adopt", house.feature["slug"], house.main["slug"], "--apply")

    assert done.returncode == 1
    assert "agents called bluelake and threads called parser" in done.stderr
    require_clean(house)
    assert house.archive(house.feature).exists()
