from __future__ import annotations

import os
import pwd

import pytest

from mcp_agent_mail.clients.hook.session_file import state_folder
from mcp_agent_mail.core.home_folder import home_folder


def test_an_absolute_home_counts() -> None:
    assert home_folder({"HOME": "/of/me"}) == "/of/me"
    assert state_folder({"HOME": "/of/me"}) == "/of/me/.local/state/mcp-agent-mail/hooks"


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "rel"}, {"HOME": "~"}], ids=str)
def test_else_the_password_file_says_where_it_is(environ: dict[str, str]) -> None:
    of_user = pwd.getpwuid(os.getuid()).pw_dir

    assert home_folder(environ) == of_user
    assert state_folder(environ) == f"{of_user}/.local/state/mcp-agent-mail/hooks"
