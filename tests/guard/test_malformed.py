"""What answers, or lies where the snapshot belongs, may be anything: the commit goes by AGENT_MAIL_GUARD_ON_ERROR."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.guard.harness import GuardHarness


@pytest.fixture
def harness(tmp_path: Path) -> GuardHarness:
    harness = GuardHarness(tmp_path)
    harness.base("src/app.py")
    harness.hook_up()
    return harness


@contextmanager
def answering(status: int, content: bytes) -> Iterator[str]:
    """A server that gives one answer to everything. Its address."""

    class Stranger(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
            """Not into the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_a_snapshot_that_is_a_pipe_holds_no_commit_up(harness: GuardHarness) -> None:
    file = harness.write_snapshot()
    file.unlink()
    os.mkfifo(file)

    code, heard = harness.commit("src/app.py", AGENT_MAIL_GUARD_ON_ERROR="warn")

    assert f"{file} is no ordinary file" in heard
    assert code == 0


_DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "answer",
    [
        (200, _DEEP),
        (400, _DEEP),
        (400, b'{"detail": ' + b"[" * 900 + b"]" * 900 + b"}"),
        (200, b'{"agent": null, "held_count": 1e999, "held": []}'),
        (200, b'{"agent": null, "held_count": 0, "held": 3}'),
    ],
    ids=["deep", "a deep refusal", "deep words", "no number", "no list"],
)
@pytest.mark.parametrize("policy", ["warn", "block"])
def test_a_malformed_answer_is_a_failure_with_a_policy(
    harness: GuardHarness, answer: tuple[int, bytes], policy: str
) -> None:
    harness.write_snapshot().unlink()
    with answering(*answer) as url:
        code, heard = harness.commit("src/app.py", AGENT_MAIL_GUARD_ON_ERROR=policy, AGENT_MAIL_URL=url)

    assert "Traceback" not in heard
    assert "holds no snapshot of the leases" in heard
    assert (code, "UNCHECKED" in heard) == ((0, True) if policy == "warn" else (1, False))
