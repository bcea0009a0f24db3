from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.server.observability.log_file import bounded_log, cut_log


def test_a_long_log_is_moved_aside_and_goes_on_in_place(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"a" * 11)
        cut_log(log, max_bytes=10)
        writer.write(b"b")

    assert (log.read_bytes(), (tmp_path / "server.log.1").read_bytes()) == (b"b", b"a" * 11)


def test_a_log_within_bounds_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"a" * 10)
    cut_log(log, max_bytes=10)

    assert [path.name for path in tmp_path.iterdir()] == ["server.log"]


async def test_a_file_that_is_not_our_stderr_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"a" * (5 * 1024 * 1024))
    async with bounded_log(tmp_path):
        pass

    assert os.listdir(tmp_path) == ["server.log"]  # noqa: PTH208  # pathlib is refused in coroutines
