from __future__ import annotations

import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from mcp_agent_mail.cli.commands.tokens import not_rebuilt_rows
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.features.recovery.rebuild import NOT_REBUILT
from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.served import Served


def test_a_lost_token_is_replaced_and_the_old_one_is_void(at_post: Shell, post: Post) -> None:
    with post.server.connect() as connection:
        connection.call("register_agent", project_key=post.project, name="LostKey", program="tester", model="scripted")
        status = {"project_key": post.project, "agent_name": "LostKey", "status": "busy"}

        token = at_post.am("token", "reissue", "LostKey", "--json").json()["registration_token"]
        again = dict(at_post.am("token", "reissue", "LostKey").lines())

        old = connection.rpc("set_status", status, **{"X-Agent-Token": token})
        new = connection.rpc("set_status", status, **{"X-Agent-Token": again["registration_token"]})
    assert again["agent"] == "LostKey"
    assert (old.error_type, new.error_type) == ("PERMISSION_DENIED", "OK")


@pytest.mark.parametrize("word", ["rotate", "renew", "replace"])
def test_who_wants_another_token_for_an_old_one_is_told_how(word: str, shell: Shell) -> None:
    ended = shell.am("token", word, "3")

    assert ended.code == 2
    assert f"There is no am token {word}." in ended.err
    commands = ("am token create", "am token revoke ID", "am token reissue AGENT --project PROJECT")
    assert [command for command in commands if command not in ended.err] == []


def test_a_token_is_issued_listed_and_revoked_beside_a_server(at_post: Shell, post: Post) -> None:
    note = f"for {post.project}"

    issued = dict(at_post.am("token", "create", "--note", note, "--expires", "12h").lines())
    agents = at_post.am("token", "create", "--agent", "BlueLake", "--expires", "never", "--json").json()
    listed = at_post.am("token", "list").lines()
    revoked = at_post.am("token", "revoke", issued["id"])
    again = at_post.am("token", "revoke", issued["id"], "--json")
    left = at_post.am("token", "list", "--json").json()
    everything = at_post.am("token", "list", "--all", "--json").json()

    assert (issued["token"][:4], issued["role"], issued["note"]) == ("amk_", "reader", note)
    assert (agents["role"], agents["agent"], agents["project"]) == ("writer", "BlueLake", post.project)
    assert [line[:4] for line in listed if line[0] in (issued["id"], str(agents["id"]))] == [
        [str(agents["id"]), "live", "writer", "BlueLake"],
        [issued["id"], "live", "reader", ""],
    ]
    assert again.json()["revoked_ts"] == dict(revoked.lines())["revoked_ts"]
    assert int(issued["id"]) not in [row["id"] for row in left]
    assert next(row["status"] for row in everything if row["id"] == int(issued["id"])) == "revoked"


def test_without_a_server_tokens_are_issued_and_revoked_too(at_stopped: Shell) -> None:
    none = at_stopped.am("token", "list")
    issued = at_stopped.am("token", "create", "--role", "operator", "--json").json()
    revoked = at_stopped.am("token", "revoke", str(issued["id"]))
    unknown = at_stopped.am("token", "revoke", "99")

    assert (none.code, none.out) == (0, "")
    assert (issued["role"], issued["status"]) == ("operator", "live")
    assert (revoked.code, revoked.lines()[0]) == (0, ["id", str(issued["id"])])
    assert (unknown.code, at_stopped.am("token", "list").out) == (1, "")
    assert "There is no issued token 99." in unknown.err
    assert "am token list --all" in unknown.err


def test_a_project_alone_gets_no_token(shell: Shell) -> None:
    done = shell.am("token", "create", "--project", "/code/app")

    assert done.code == 2
    assert "--project goes with --agent" in done.err


@pytest.mark.parametrize(("option", "value"), [("--expires", "soon"), ("--agent", "NoBody")])
def test_what_cannot_be_issued_is_refused_by_its_name_and_nothing_is(
    option: str, value: str, at_stopped: Shell
) -> None:
    done = at_stopped.am("token", "create", option, value)

    assert (done.code, done.out) == (1, "")
    assert value in done.err
    assert at_stopped.am("token", "list", "--all").out == ""


def test_of_an_agent_that_has_not_registered_the_steps_before_are_told(at_stopped: Shell) -> None:
    done = at_stopped.am("token", "create", "--agent", "NoBody")
    elsewhere = at_stopped.am("token", "create", "--agent", "NoBody", "--project", "/no/such/project")

    for refused in (done, elsewhere):
        assert refused.code == 1
        assert "give its machine a writer's first (am token create --role writer)" in refused.err


def test_what_a_server_answered_of_tokens_outlives_its_kill_and_no_file_has_their_text(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    with Served(tmp_path / "store", HOME=str(tmp_path), LOG_LEVEL="DEBUG") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=str(project))
            connection.call("register_agent", project_key=str(project), name="BlueLake", program="a", model="b")
        of_blue = ("--agent", "BlueLake", "--project", str(project))
        issued = [json.loads(server.am("token", "create", "--json", *of_blue).stdout) for _ in range(2)]
        revoked = server.am("token", "revoke", str(issued[0]["id"]))
        server.await_drained()
        server.kill()

    listed = server.am("token", "list", "--all").stdout.splitlines()

    assert revoked.returncode == 0
    assert [line.split("\t")[:2] for line in listed] == [
        [str(issued[1]["id"]), "live"],
        [str(issued[0]["id"]), "revoked"],
    ]
    texts = [token["token"].encode() for token in issued]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {server.database, server.log} <= set(files)
    assert [path for path in files if any(text in content_of(path) for text in texts)] == []
    assert all(token_hash(token["token"]) in server.database.read_bytes() for token in issued)


def content_of(path: Path) -> bytes:
    """What a file says, as Git reads its objects."""
    content = path.read_bytes()
    return zlib.decompress(content) if "objects" in path.parts and content[:1] == b"x" else content


def test_the_next_command_for_tokens_is_told_where_none_came_along() -> None:
    named, step = not_rebuilt_rows(NOT_REBUILT)

    assert named == ("not rebuilt", "; ".join(NOT_REBUILT))
    assert step[0] == "next"
    assert [name for name, _ in not_rebuilt_rows(["windows"])] == ["not rebuilt"]
    assert not_rebuilt_rows(()) == []


def test_a_role_that_is_none_is_misuse(shell: Shell) -> None:
    done = shell.am("token", "create", "--role", "king")

    assert done.code == 2
    assert "reader, writer, operator" in done.err


UNSEEN = ("> /dev/full", ">&-")


@pytest.mark.parametrize("output", UNSEEN)
def test_a_secret_that_could_not_be_shown_is_told_with_what_to_do(post: Post, output: str) -> None:
    if output == "> /dev/full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    project = post.project

    created = _unseen(post, output, "token", "create", "--json")
    number = post.server.am("token", "list", "--json")
    (newest, *_) = json.loads(number.stdout)
    reissued = _unseen(post, output, "token", "reissue", "BlueLake", "--project", project)
    invited = _unseen(post, output, "projects", "invite", project)
    linked = _unseen(post, output, "web", "--no-browser")

    assert [one.returncode for one in (created, reissued, invited, linked)] == [1] * 4
    assert f"Token {newest['id']} was issued, and could not be shown: " in created.stderr
    assert f"Hint: am token revoke {newest['id']}" in created.stderr
    assert "BlueLake was given a new token, and could not be shown" in reissued.stderr
    assert f"Hint: am projects revoke-code {project} " in invited.stderr
    assert "A link that signs in was made, and could not be shown" in linked.stderr


def _unseen(post: Post, output: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'"$@" {output}', "sh", sys.executable, "-m", "mcp_agent_mail", *arguments]
    server = post.server
    return subprocess.run(
        command,
        env=server.environment(),
        cwd=server.root.parent,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=60,
    )
