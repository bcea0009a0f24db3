"""A server under uvicorn that nobody has asked anything yet, and a process that is none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.cli.gateway.known_owner import owner_with_address
from mcp_agent_mail.core.store_owner import read_owner
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.cli.conftest import Post
from tests.cli.shell import Shell
from tests.under_uvicorn import under_uvicorn

_HOLD = """
import sys
from pathlib import Path
from mcp_agent_mail.store.engine.lock import StoreLock
with StoreLock(Path(sys.argv[1]), Path(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(storage_root: Path, database: Path) -> Iterator[int]:
    """The id of another process that has the store, and says of no address."""
    words = [sys.executable, "-c", _HOLD, str(storage_root), str(database)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder.pid
        holder.kill()


def test_a_server_that_was_asked_nothing_yet_is_found_by_the_first_command(tmp_path: Path, shell: Shell) -> None:
    for words in (("status", "--json"), ("projects", "list"), ("top", "--once", "--json"), ("doctor", "check")):
        with under_uvicorn(tmp_path, "mcp_agent_mail.asgi:app") as server:
            shell.set(STORAGE_ROOT=str(server.root), HTTP_PORT=str(server.port))
            before = read_owner(server.root)
            done = shell.am(*words)
            after = read_owner(server.root)
            server.end()

        assert before is not None
        assert before.url is None
        assert (done.code, done.err) == (0, ""), done.out
        assert after is not None
        assert after.url == server.url("")
        if words[0] == "top":
            assert json.loads(done.out)["server"] == "ok"


def test_a_server_of_another_store_is_not_taken_for_the_owner(post: Post, at_stopped: Shell) -> None:
    at_stopped.set(HTTP_PORT=str(post.server.port))
    settings = at_stopped.context().settings

    with held_elsewhere(settings.storage_root, settings.database_path) as holder:
        owner = owner_with_address(at_stopped.context())

    assert owner is not None
    assert (owner.pid, owner.url) == (holder, None)


def test_a_process_that_may_be_a_server_is_not_advised_to_be_ended(stopped_post: Post) -> None:
    server = stopped_post.server
    with StoreLock(server.root, server.database):
        mail, top, status = (server.am(*words) for words in (("mail",), ("top", "--once"), ("status",)))
        wait = server.am("wait", "RedStone", "--project", stopped_post.project)

    assert (mail.returncode, top.returncode, status.returncode, wait.returncode) == (69, 0, 69, 69)
    for done in (mail, top, status, wait):
        assert "set AGENT_MAIL_URL" in done.stdout + done.stderr
        assert "kill" not in done.stdout + done.stderr
