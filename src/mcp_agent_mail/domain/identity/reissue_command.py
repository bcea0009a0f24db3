"""The command that gives an agent another registration token, as every text names it."""

from __future__ import annotations

import shlex


def reissue_command(agent: str = "AGENT", project: str = "PROJECT") -> str:
    """With the project, always: without one the command looks where it is run."""
    return shlex.join(["am", "token", "reissue", agent, "--project", project])
