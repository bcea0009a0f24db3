from __future__ import annotations

import fcntl
import json
import socket
from io import TextIOBase
from pathlib import Path

import pytest

from mcp_agent_mail.cli.agentmail.door import DoorClient
from mcp_agent_mail.cli.agentmail.environment import DoorSettings
from mcp_agent_mail.cli.agentmail.refusals import Failure
from mcp_agent_mail.core.running_server import NoAnswer, RunningServer
from tests.served import Served

TOKEN = "a-token-of-the-whole-server"
ME = {"project": "/code/app", "name": "me"}


def _door(root: Path, **settings: str) -> DoorClient:
    return DoorClient(DoorSettings({"HOME": str(root), "STORAGE_ROOT": str(root / "store"), **settings}), starts=False)


def test_without_a_server_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="no server runs"):
        _door(tmp_path).ask("names", ME)


def test_the_servers_token_opens_it_and_the_operators_is_not_even_shown(tmp_path: Path) -> None:
    with Served(tmp_path / "store", AGENTMAIL_ENABLED="true", HTTP_BEARER_TOKEN=TOKEN) as server:
        opened = _door(tmp_path, AGENT_MAIL_TOKEN=TOKEN).ask("names", ME)
        with pytest.raises(Failure) as none:
            _door(tmp_path).ask("names", ME)
        operator = (server.root / "operator.token").read_text().strip()
        with server.connect() as connection:
            body = json.dumps(ME).encode()
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {operator}"}
            shown = connection.request("POST", "/agentmail/names", body, headers)

    assert opened == {"names": []}
    assert str(none.value).endswith("Set AGENT_MAIL_TOKEN to it for this command.")
    assert shown.status == 401


def test_a_refusal_has_its_next_step_behind_it(tmp_path: Path) -> None:
    with Served(tmp_path / "store", AGENTMAIL_ENABLED="true"), pytest.raises(Failure) as refused:
        _door(tmp_path).ask("send", {**ME, "to": "x" * 129, "body": "hi", "window": True})

    assert str(refused.value).startswith("Invalid agent name. A name has 1 to 128 ")


def test_a_server_that_is_named_is_asked(tmp_path: Path) -> None:
    with Served(tmp_path / "other", AGENTMAIL_ENABLED="true") as server:
        url = f"http://127.0.0.1:{server.port}/mcp"

        assert _door(tmp_path, AGENT_MAIL_URL=url).ask("names", ME) == {"names": []}


class EndingDoor(DoorClient):
    """Finds, at its first looks, a server that ends: the store is its own, and its port is closed."""

    def __init__(self, root: Path, server: Served, owner: TextIOBase) -> None:
        super().__init__(DoorSettings({"HOME": str(root), "STORAGE_ROOT": str(root / "store")}), starts=True)
        self._next = server
        self._owner = owner
        self.looks = 0

    def _server(self) -> RunningServer:
        self.looks += 1
        if self.looks == 3:
            self._owner.close()
            self._next.start()
        return super()._server()


def test_a_server_that_ends_is_waited_for_until_the_next_one_is_there(tmp_path: Path) -> None:
    store, server = tmp_path / "store", Served(tmp_path / "store", AGENTMAIL_ENABLED="true")
    store.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    (store / "server.json").write_text(json.dumps({"pid": 1, "url": address, "started": "now"}))
    owner = (store / "server.lock").open("w")
    fcntl.flock(owner, fcntl.LOCK_EX)
    door = EndingDoor(tmp_path, server, owner)

    try:
        assert door.ask("names", ME) == {"names": []}
    finally:
        server.stop()

    assert door.looks >= 3


def test_settling_what_nobody_has_given_ends(tmp_path: Path) -> None:
    with Served(tmp_path / "store", AGENTMAIL_ENABLED="true"):
        _door(tmp_path).settle("no-such-ticket", is_heard=True)

    _door(tmp_path).settle("no-such-ticket", is_heard=True)


@pytest.mark.parametrize(
    ("key", "said"),
    [("body", "message"), ("to", "recipient"), ("name", "name"), ("project", "the path of the project")],
)
def test_what_came_as_other_bytes_than_utf8_is_named_and_not_sent(tmp_path: Path, key: str, said: str) -> None:
    value = {
        "project": "/x",
        "name": "a1",
        "to": "a2",
        "body": "hi",
        "window": False,
        key: b"a\xff".decode(errors="surrogateescape"),
    }
    settings = DoorSettings({"HOME": str(tmp_path), "STORAGE_ROOT": str(tmp_path / "none")})

    with pytest.raises(Failure, match=f"^{said} is not valid UTF-8$"):
        DoorClient(settings, starts=False).ask("send", value)
