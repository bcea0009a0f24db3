"""The protocol of handed sockets, in processes whose descriptor 3 is what the test says."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.handed import HANDING_OVER

_TAKES = """\
import json, os, subprocess, sys
from mcp_agent_mail.server.transport.handed_listener import UnfitPort, address_of, take_handed_listener

environ = dict(os.environ)
try:
    handed = take_handed_listener(environ, os.getpid())
except UnfitPort as refused:
    told = {"refused": refused.message, "hint": refused.hint}
else:
    told = {"address": address_of(handed), "blocks": handed.getblocking()} if handed else {}
    ask = "import os; os.fstat(3)"
    child = subprocess.run([sys.executable, "-c", ask], close_fds=False, capture_output=True)
    told["inherited"] = child.returncode == 0
told["left"] = sorted(name for name in environ if name.startswith("LISTEN_"))
print(json.dumps(told))
"""


@pytest.fixture
def kept() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def taken(descriptor: int, **variables: str) -> dict[str, object]:
    """What a process makes of `descriptor`, handed over as its third, and of these variables."""
    done = subprocess.run(
        [sys.executable, "-c", HANDING_OVER, str(descriptor), sys.executable, "-c", _TAKES],
        pass_fds=(descriptor,),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    told: dict[str, object] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_listening_socket_is_taken_and_no_child_has_it(kept: ExitStack, family: int, host: str) -> None:
    listener = kept.enter_context(socket.socket(family))
    listener.bind((host, 0))
    listener.listen()

    told = taken(listener.fileno(), LISTEN_FDNAMES="http")

    assert told == {
        "address": list(listener.getsockname()[:2]),
        "blocks": False,
        "inherited": False,
        "left": [],
    }


@pytest.mark.parametrize("variables", [{"LISTEN_PID": "1"}, {"LISTEN_PID": "no number"}, {"LISTEN_FDS": "0"}])
def test_what_is_meant_for_another_or_is_none_is_left_alone_and_told_to_no_child(
    kept: ExitStack, variables: dict[str, str]
) -> None:
    listener = kept.enter_context(socket.create_server(("127.0.0.1", 0)))

    told = taken(listener.fileno(), **variables)

    assert (told.get("address"), told["left"]) == (None, [])


def unlistened() -> socket.socket:
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    return bound


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (unlistened, "does not listen"),
        (lambda: socket.socket(type=socket.SOCK_DGRAM), "is of the type SOCK_DGRAM, and not TCP"),
        (lambda: socket.socket(socket.AF_UNIX), "is of the family AF_UNIX, which has no port"),
    ],
)
def test_a_socket_that_is_no_tcp_listener_is_refused_with_what_it_is(
    kept: ExitStack, make: type[socket.socket], fault: str
) -> None:
    unfit = kept.enter_context(make())

    told = taken(unfit.fileno())

    assert told["refused"] == f"The socket that was handed over {fault}."
    assert "ListenStream=" in str(told["hint"])
    assert told["left"] == []


def test_a_file_is_refused(kept: ExitStack, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = kept.enter_context((tmp_path / "file").open())

    told = taken(file.fileno())

    assert "is no socket" in str(told["refused"])


@pytest.mark.parametrize("count", ["2", "-1", "many"])
def test_more_than_one_socket_is_refused(kept: ExitStack, count: str) -> None:
    listener = kept.enter_context(closing(socket.create_server(("127.0.0.1", 0))))

    told = taken(listener.fileno(), LISTEN_FDS=count)

    assert told["refused"] == f"LISTEN_FDS={count!r}: it takes one socket, no more."
    assert told["left"] == []
