from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command_line import am
from tests.cli.conftest import write_mail
from tests.faults.disks import read_only, require_mounts
from tests.served import Served


@contextmanager
def post_office(home: Path) -> Iterator[Served]:
    """A server over a store with mail, as it makes one itself: private to its owner."""
    (home / "shop").mkdir()
    (home / "store").mkdir(mode=0o700)
    with Served(home / "store", HOME=str(home)) as server:
        with server.connect() as connection:
            ids = write_mail(connection, str(home / "shop"))
            server.await_drained()
            read = {"agent_name": "RedStone", "message_id": ids["first_id"]}
            connection.call("mark_message_read", project_key=str(home / "shop"), **read)
        server.await_drained()
        yield server


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose server has stopped; made once, for copies."""
    home = tmp_path_factory.mktemp("pattern")
    with post_office(home):
        pass
    return home


@pytest.fixture
def stopped(pattern: Path, tmp_path: Path) -> Served:
    """A copy that the test may break."""
    shutil.copytree(pattern, tmp_path, dirs_exist_ok=True)
    return Served(tmp_path / "store", HOME=str(tmp_path))


def check(server: Served) -> tuple[int, dict[str, Any]]:
    done = server.am("doctor", "check", "--json")
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["well"] == (done.returncode == 0)
    return done.returncode, report


def only_finding(server: Served) -> dict[str, Any]:
    code, report = check(server)
    assert code == 1
    (finding,) = report["findings"]
    assert finding["evidence"]
    assert finding["next_step"]
    found: dict[str, Any] = finding
    return found


def files_of(root: Path) -> dict[str, bytes]:
    """Without what SQLite puts beside a database that is read."""
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {str(path): path.read_bytes() for path in files}


def test_a_good_store_is_well_beside_its_server_and_without_and_nothing_is_changed(tmp_path: Path) -> None:
    with post_office(tmp_path) as server:
        beside = check(server)
    before = files_of(server.root)
    without = check(server)

    said = {one["check"]: one["evidence"] for one in beside[1]["checks"]}
    assert (beside[0], without[0]) == (0, 0)
    assert "wrote and read the store just now" in said["owner"]
    assert [one["check"] for one in without[1]["checks"]][:8] == [
        "owner",
        "permissions",
        "disk",
        "locks",
        "numbers",
        "database",
        "git",
        "outbox",
    ]
    assert files_of(server.root) == before


def test_the_verdict_stands_below_a_line_for_each_check(stopped: Served) -> None:
    done = stopped.am("doctor", "check")

    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[-1] == ["verdict", "well"]
    assert {line[0] for line in lines[:-1]} == {"ok"}


@pytest.mark.slow
def test_a_silent_server_is_a_finding_with_its_process(tmp_path: Path) -> None:
    with post_office(tmp_path) as server:
        os.kill(server.pid, signal.SIGSTOP)
        try:
            finding = only_finding(server)
        finally:
            os.kill(server.pid, signal.SIGCONT)

    assert (finding["check"], finding["problem"]) == ("owner", "silent")
    assert "does not answer" in finding["evidence"]


def test_a_server_that_refuses_the_question_is_not_called_silent(tmp_path: Path) -> None:
    with post_office(tmp_path) as server:
        record = server.root / "server.json"
        owner = json.loads(record.read_text())
        record.write_text(json.dumps(owner | {"url": owner["url"].replace("127.0.0.1", "127.1")}))
        finding = only_finding(server)

    assert (finding["check"], finding["problem"]) == ("owner", "refused")
    assert "HTTP_ALLOWED_HOSTS" in finding["evidence"]
    assert "kill" not in finding["next_step"]


def test_a_store_that_others_may_read_is_a_finding_until_it_is_made_private(stopped: Served) -> None:
    stopped.root.chmod(0o755)

    finding = only_finding(stopped)
    os.system(finding["next_step"])  # what the person is told to run

    assert (finding["check"], finding["problem"]) == ("permissions", "open to others")
    assert check(stopped)[0] == 0


def test_a_store_that_is_mounted_read_only_is_one_finding_and_the_rest_is_looked_at(stopped: Served) -> None:
    require_mounts()
    with read_only(stopped.root):
        code, report = check(stopped)
    (finding,) = report["findings"]

    assert code == 1
    assert (finding["check"], finding["problem"], finding["path"]) == ("permissions", "read-only", str(stopped.root))
    assert "mounted read-only" in finding["evidence"]
    assert finding["next_step"].startswith("Mount it for writing")
    looked_at = {one["check"]: one["evidence"] for one in report["checks"]}
    assert "database" not in looked_at
    assert "git fsck --strict is clean" in next(
        found for name, found in looked_at.items() if name.startswith("archive ")
    )


def test_a_server_whose_lock_file_was_removed_is_one_that_runs(tmp_path: Path) -> None:
    with post_office(tmp_path) as server:
        assert server.process is not None
        pid = server.process.pid
        (tmp_path / "store" / "server.lock").unlink()

        code, report = check(server)
        second = server.am("serve", "--port", "0")
        reached = server.am("status", "--json")

        assert server.process.poll() is None

    assert (code, report["findings"]) == (0, [])
    assert second.returncode == 75, second.stderr
    assert f"in use by process {pid}, which serves http" in second.stderr
    assert json.loads(reached.stdout)["status"] == "ok"


def test_a_server_tells_again_who_it_is_when_that_was_removed(tmp_path: Path) -> None:
    with post_office(tmp_path):
        told = tmp_path / "store" / "server.json"
        before = told.read_bytes()
        told.unlink()

        until = time.monotonic() + 60
        while not told.exists() and time.monotonic() < until:
            time.sleep(0.1)

        assert told.read_bytes() == before


def test_without_a_store_there_is_nothing_to_check(tmp_path: Path) -> None:
    done = am("doctor", "check", home=tmp_path)

    assert done.returncode == am("doctor", "verify", home=tmp_path).returncode == 69
    assert done.stderr.startswith(f"Error (UNAVAILABLE): There is no store in {tmp_path}/.mcp_agent_mail.")
