"""Every way in which code of ours touches a code repository without a server, one after the other, in this process.

`python repository_driver.py WAY REPOSITORY…`: refusals with a reason are answers; anything else ends with a traceback.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.guard.entry import main as guard_main
from mcp_agent_mail.guard.hooks.install import install_guard, recorded_project, uninstall_guard
from mcp_agent_mail.guard.hooks.status import look_at_guard
from mcp_agent_mail.workspace.activity import Bounds
from mcp_agent_mail.workspace.facts import Workspaces
from mcp_agent_mail.workspace.identity import WorkspaceIdentities

MEMORY = 1024 * 1024 * 1024


def facts(top: Path) -> None:
    spaces = Workspaces(bounds=Bounds(seconds=1.0))
    spaces.branch(str(top))
    spaces.ignore_case(str(top))
    for pattern in ("src/**", "src/app.py", "**/*.py"):
        spaces.activity(str(top), pattern, ignore_case=False)


def identity(top: Path) -> None:
    WorkspaceIdentities().marked(str(top))
    WorkspaceIdentities().facts(str(top))


def guard(top: Path) -> None:
    os.chdir(top)
    guard_main(["hook", "pre-commit"])
    guard_main(["check", "src/app.py"])


def status(top: Path) -> None:
    look_at_guard(top)
    recorded_project(top)


def install(top: Path) -> None:
    install_guard(top, "/code/app")


def uninstall(top: Path) -> None:
    uninstall_guard(top)


WAYS: dict[str, Callable[[Path], None]] = {
    way.__name__: way for way in (facts, identity, guard, status, install, uninstall)
}


def main() -> None:
    """Each repository in turn: what was refused is said, by name."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    way = WAYS[sys.argv[1]]
    for place in sys.argv[2:]:
        try:
            way(Path(place))
        except AgentMailError as refused:
            sys.stdout.write(f"{place}\t{refused.message}\n")
        else:
            sys.stdout.write(f"{place}\t\n")


if __name__ == "__main__":
    main()
