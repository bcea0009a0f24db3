from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from mcp_agent_mail.clients.hook.environment import HookSettings
from mcp_agent_mail.clients.hook.identity import look_at_git
from mcp_agent_mail.clients.hook.session_file import state_folder
from mcp_agent_mail.core.home_folder import expand_home, home_folder
from mcp_agent_mail.core.settings.client import read_client_settings


def test_an_absolute_home_counts() -> None:
    assert home_folder({"HOME": "/of/me"}) == "/of/me"
    assert state_folder({"HOME": "/of/me"}) == "/of/me/.local/state/mcp-agent-mail/hooks"


@pytest.mark.parametrize(
    ("text", "path"),
    [("~", "/of/me"), ("~/a", "/of/me/a"), ("~you/a", "~you/a"), ("a/~", "a/~"), ("/a", "/a"), ("", "")],
)
def test_a_tilde_before_a_path_is_ones_own_home(text: str, path: str) -> None:
    assert expand_home(text, {"HOME": "/of/me"}) == path


@pytest.mark.parametrize("home", ["", "rel", "~"])
def test_a_home_that_is_none_is_the_same_other_one_for_setup_settings_hooks_and_git(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the password file says is all that differs from a machine: nothing is read where we stand."""
    of_user = tmp_path / "of-user"
    for folder, name in ((of_user, "OfUser"), (tmp_path / "here" / home, "OfRepository")):
        folder.mkdir(parents=True, exist_ok=True)
        # With a comment it is left to the guard's reader, which runs Git.
        (folder / ".gitconfig").write_text(f"[agent-mail]\n\tname = {name} ; quoted\n")
    monkeypatch.chdir(tmp_path / "here")
    user = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd((*user[:5], str(of_user), user[6])))
    environ = {"HOME": home, "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    (tmp_path / "here" / ".git").mkdir()
    for name in ("objects", "refs"):
        (tmp_path / "here" / ".git" / name).mkdir()
    (tmp_path / "here" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")

    loaded = read_client_settings(environ).settings

    assert home_folder(environ) == str(of_user)
    assert loaded.storage_root == of_user / ".mcp_agent_mail"
    assert HookSettings(environ).root == str(of_user / ".mcp_agent_mail")
    assert state_folder(environ) == f"{of_user}/.local/state/mcp-agent-mail/hooks"
    assert look_at_git(str(tmp_path / "here"), environ)[1] == {"name": "OfUser"}


@pytest.mark.parametrize("of_user", ["rel", "", "~"])
def test_a_home_that_the_password_file_does_not_know_is_where_nothing_can_be_made(
    of_user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = pwd.getpwuid(os.getuid())
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd((*user[:5], of_user, user[6])))

    assert home_folder({}) == os.devnull


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "rel"}, {"HOME": "~"}], ids=str)
def test_else_the_password_file_says_where_it_is(environ: dict[str, str]) -> None:
    of_user = pwd.getpwuid(os.getuid()).pw_dir

    assert home_folder(environ) == of_user
    assert state_folder(environ) == f"{of_user}/.local/state/mcp-agent-mail/hooks"
