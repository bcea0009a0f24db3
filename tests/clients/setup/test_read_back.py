from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.setup.file_edit import put_into
from mcp_agent_mail.clients.setup.read_back import NotReadBack, read_command, read_entry
from mcp_agent_mail.clients.setup.wishes import FileWish
from tests.clients.setup.homes import SETTINGS, by_file, wishes


def written(home: Path, client: str) -> list[FileWish]:
    wanted = wishes(home, client)
    for path, wish in by_file(wanted).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(put_into(None, [wish]))
        path.chmod(0o755)
    return wanted


@pytest.mark.parametrize("client", CLIENTS)
def test_an_entry_leads_where_it_says_with_the_token_of_the_surroundings(client: str, tmp_path: Path) -> None:
    (mcp, *_) = written(tmp_path, client)
    has_reference = read_contract(client)["token"]["reference"] is not None

    entry = read_entry(mcp, {"AGENT_MAIL_TOKEN": "t0ken"})
    unset = read_entry(mcp, {})

    assert entry.url == SETTINGS.url
    assert entry.headers == ({"Authorization": "Bearer t0ken"} if has_reference else {})
    assert unset.unset == (["AGENT_MAIL_TOKEN"] if has_reference else [])


@pytest.mark.parametrize("client", CLIENTS)
def test_a_command_is_one_that_a_shell_runs(client: str, tmp_path: Path) -> None:
    wanted = written(tmp_path, client)
    event = next(name for name, row in read_contract(client)["events"].items() if row["tells"] or row["install"])

    command = read_command(wanted, client, event)

    assert command is not None
    said = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s|' {command}"], capture_output=True, text=True, check=True
    ).stdout.split("|")
    assert said[:4] == [SETTINGS.am, "hook", client, event] or said[0] == str(wanted[-1].path.parent / event)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    mcp, hooks = wishes(tmp_path, "claude")

    with pytest.raises(NotReadBack, match="cannot be read back"):
        read_entry(mcp, {})
    mcp.path.write_text('{"mcpServers": {"agent-mail": {"command": "am"}}}')
    with pytest.raises(NotReadBack, match="no address"):
        read_entry(mcp, {})
    mcp.path.write_text("[]")
    with pytest.raises(NotReadBack, match="no entry"):
        read_entry(mcp, {})
    hooks.path.parent.mkdir()
    hooks.path.write_text('{"hooks": {"Stop": [7]}}')
    with pytest.raises(NotReadBack, match="no hook"):
        read_command([hooks], "claude", "Stop")


def test_headers_that_are_a_list_are_said(tmp_path: Path) -> None:
    (mcp, *_) = written(tmp_path, "claude")
    values = json.loads(mcp.path.read_text())
    values["mcpServers"]["agent-mail"]["headers"] = ["x"]
    mcp.path.write_text(json.dumps(values))

    with pytest.raises(NotReadBack, match="no object"):
        read_entry(mcp, {})
