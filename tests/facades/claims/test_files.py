"""What the profile leaves in Git, what its guard does to a commit, what a plain POST gets: with a server process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.facades.facts import shows
from tests.served import Connection, Served, git

_PROFILE = {"program": "tests", "model": "none"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("claims") / "store", CLAIMS_ENABLED="true") as served:
        yield served


def post(server: Served, method: str, **params: Any) -> Any:
    """JSON-RPC by one POST, as the earlier system's page shows it: no session, no handshake."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    with Connection(server.port) as connection:
        answer = connection.request(
            "POST", "/mcp/?profile=claims", body, {"Content-Type": "application/json", "Accept": "application/json"}
        )
    assert answer.status == 200, answer
    return answer.value["result"]


def call(server: Served, tool: str, **arguments: Any) -> Any:
    result = post(server, "tools/call", name=tool, arguments=arguments)
    assert not result["isError"], result
    return result["structuredContent"]


@pytest.fixture
def team(server: Served, tmp_path: Path) -> dict[str, str]:
    """A repository that BlueLake and RedStone work in."""
    code = tmp_path / "code"
    code.mkdir()
    git(code, "init", "-q", "-b", "main")
    git(code, "config", "user.name", "Grace")
    git(code, "config", "user.email", "grace@example.com")
    for name in ("BlueLake", "RedStone"):
        call(server, "create_agent", project_key=str(code), name_hint=name, **_PROFILE)
    return {"project_key": str(code)}


@shows("plain-post")
def test_tools_and_resources_are_served_by_one_post_without_a_session(server: Served, team: dict[str, str]) -> None:
    call(server, "send_message", **team, from_agent="BlueLake", to=["RedStone"], subject="Plan", body_md="b")

    mail = call(server, "check_my_messages", **team, agent_name="RedStone")["result"]
    read = post(server, "resources/read", uri=f"resource://inbox/RedStone?project={team['project_key']}")

    assert [one["subject"] for one in mail] == ["Plan"]
    assert [one["subject"] for one in json.loads(read["contents"][0]["text"])["messages"]] == ["Plan"]


@shows("claim-artifact", "mail-files", "sha256")
def test_mail_and_claims_are_files_in_git_and_a_released_claim_stays_there(
    server: Served, team: dict[str, str]
) -> None:
    call(server, "send_message", **team, from_agent="BlueLake", to=["RedStone"], subject="Plan", body_md="The body.")
    held = call(server, "claim_paths", **team, agent_name="BlueLake", paths=["a.py"])["granted"][0]
    server.await_drained()
    archive = next(
        one
        for one in server.archives()
        if json.loads((one / "archive.json").read_text())["project"]["human_key"] == team["project_key"]
    )
    live = git(archive, "ls-tree", "-r", "--name-only", "main").splitlines()
    call(server, "release_claims", **team, agent_name="BlueLake", paths=["a.py"])
    server.await_drained()
    released = git(archive, "ls-tree", "-r", "--name-only", "main").splitlines()

    mail = [path for path in live if path.endswith(".md") and "threads" not in path]
    assert [path.split("/")[:3] for path in mail if path.startswith("agents")] == [
        ["agents", "BlueLake", "outbox"],
        ["agents", "RedStone", "inbox"],
    ]
    for path in mail:
        text = git(archive, "show", f"main:{path}")
        assert text.startswith("---json\n{"), path
        assert text.endswith("The body.\n"), path
    assert f"file_reservations/id-{held['id']}.json" in live
    (kept,) = [path for path in released if path.endswith(f"id-{held['id']}.json")]
    record = json.loads(git(archive, "show", f"main:{kept}"))
    assert (record["path_pattern"], record["exclusive"], record["released_ts"] is None) == ("a.py", True, False)
    assert [path for path in released if path.startswith("claims/")] == []


@shows("guard", "unguard")
def test_the_guard_refuses_a_commit_of_what_another_claimed_exclusively(server: Served, team: dict[str, str]) -> None:
    code = Path(team["project_key"])
    call(server, "install_precommit_guard", **team, code_repo_path=str(code))
    call(server, "claim_paths", **team, agent_name="RedStone", paths=["a.py"])
    (code / "a.py").write_text("a = 1\n")
    git(code, "add", "-A")

    blue, red = (commit(server, code, name) for name in ("BlueLake", "RedStone"))
    (code / "a.py").write_text("a = 2\n")
    git(code, "add", "-A")
    call(server, "uninstall_precommit_guard", code_repo_path=str(code))
    without = commit(server, code, "BlueLake")

    assert (blue.returncode, red.returncode, without.returncode) == (1, 0, 0), blue.stderr
    assert "RedStone" in blue.stderr


def commit(server: Served, code: Path, name: str) -> subprocess.CompletedProcess[str]:
    environ = {**server.environment(), "HOME": str(server.root.parent), "AGENT_NAME": name}
    return subprocess.run(
        ["git", "commit", "-qm", "change"],
        cwd=code,
        env={**environ, "AGENT_MAIL_ENV_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@shows("claim-ends")
def test_a_claim_says_when_it_ends(server: Served, team: dict[str, str]) -> None:
    before = datetime.now().astimezone()
    (granted,) = call(server, "claim_paths", **team, agent_name="BlueLake", paths=["a.py"], ttl_seconds=600)["granted"]
    after = datetime.now().astimezone()

    ends = datetime.fromisoformat(granted["expires_ts"])
    assert 600 - 1 <= (ends - before).total_seconds() <= 600 + (after - before).total_seconds() + 1
