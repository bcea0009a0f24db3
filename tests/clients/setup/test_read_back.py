from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.setup.file_edit import put_into
from mcp_agent_mail.clients.setup.read_back import NotReadBack, find_hook_file, read_entry, require_hook
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
def test_a_hook_is_found_as_it_was_written(client: str, tmp_path: Path) -> None:
    wanted = written(tmp_path, client)
    event = next(name for name, row in read_contract(client)["events"].items() if row["tells"] or row["install"])

    file = find_hook_file(wanted, client, event)

    assert file is not None
    require_hook(file, client, event)
    assert find_hook_file(wanted[:1], client, event) is None


@pytest.mark.parametrize("written_as", ["$HOME_SECRET", "${HOME_SECRET}", "${env:HOME_SECRET}", "{env:HOME_SECRET}"])
def test_no_variable_but_our_token_is_filled_in(written_as: str, tmp_path: Path) -> None:
    (mcp, *_) = written(tmp_path, "claude")
    mcp.path.write_text(mcp.path.read_text().replace("Bearer ", f"{written_as} Bearer "))

    entry = read_entry(mcp, {"AGENT_MAIL_TOKEN": "t0ken", "HOME_SECRET": "s3cret"})

    assert entry.headers == {"Authorization": f"{written_as} Bearer t0ken"}


def test_an_entry_that_leads_elsewhere_is_none_of_ours(tmp_path: Path) -> None:
    (mcp, *_) = written(tmp_path, "gemini")
    mcp.path.write_text(mcp.path.read_text().replace("127.0.0.1", "evil.example"))

    with pytest.raises(NotReadBack, match="leads elsewhere"):
        read_entry(mcp, {})


@pytest.mark.parametrize("kind", ["device", "pipe", "link", "huge"])
def test_only_plain_files_of_the_project_are_read_back(kind: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    mcp = wishes(tmp_path, "claude", project)[0]
    if kind == "device":
        mcp.path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(mcp.path)
    elif kind == "link":
        (tmp_path / "outside.json").write_text("{}")
        mcp.path.symlink_to("../outside.json")
    else:
        mcp.path.touch()
        os.truncate(mcp.path, 17 * 2**20)

    with pytest.raises(NotReadBack, match="cannot be read back"):
        read_entry(mcp, {}, within=project)


def test_what_json_does_not_know_is_not_read_back(tmp_path: Path) -> None:
    hooks = written(tmp_path, "claude")[1]
    hooks.path.write_text(hooks.path.read_text().replace("{", '{"x": NaN,', 1))

    with pytest.raises(NotReadBack, match="cannot be read back"):
        require_hook(hooks, "claude", "Stop")


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
        require_hook(hooks, "claude", "Stop")


def test_headers_that_are_a_list_are_said(tmp_path: Path) -> None:
    (mcp, *_) = written(tmp_path, "claude")
    values = json.loads(mcp.path.read_text())
    values["mcpServers"]["agent-mail"]["headers"] = ["x"]
    mcp.path.write_text(json.dumps(values))

    with pytest.raises(NotReadBack, match="no object"):
        read_entry(mcp, {})
