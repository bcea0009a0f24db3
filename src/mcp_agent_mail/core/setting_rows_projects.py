"""The settings of which directories are one project. Standard library only."""

from __future__ import annotations

import re

from mcp_agent_mail.core.setting_row import Row
from mcp_agent_mail.core.settings import kinds


def _remote(text: str, _: kinds.Around) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", text):
        raise kinds.BadValue("Write it as `git remote` prints it.")
    return text


PROJECT_ROWS = (
    Row(
        name="PROJECT_IDENTITY_MODE",
        kind=kinds.one_of("dir", "git-remote", "git-toplevel", "git-common-dir"),
        default="dir",
        does="Which directories are one project: each its own, or all of one remote, one checkout, one clone with its "
        "work trees.",
        group="Projects",
    ),
    Row(
        name="PROJECT_IDENTITY_REMOTE",
        kind=kinds.Kind(label="name", expected="the name of a Git remote", parse=_remote),
        default="origin",
        does="The remote that `git-remote` goes by.",
        group="Projects",
    ),
)
