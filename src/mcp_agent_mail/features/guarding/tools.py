"""The tools that put the guard into a code repository."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import PROJECT_KEY, Text
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.guarding.install import GuardInstallation

_CODE_PATH = Text(max_length=4_096)


def guard_tools(installation: GuardInstallation, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To install the guard and to take it out. Both write into a code repository on this machine, and take a turn of
    the long calls.
    """

    async def install_precommit_guard(
        project_key: Annotated[str, PROJECT_KEY], code_repo_path: Annotated[str, _CODE_PATH]
    ) -> Json:
        """Let Git refuse commits and pushes of files that another agent has reserved exclusively.
        code_repo_path: a Git work tree on the server's machine. Hooks that are there keep working.
        """
        installed = await installation.install(await current_caller(), project_key, code_repo_path)
        return {"hook": str(installed.hook), "status": installed.status.value}

    async def uninstall_precommit_guard(code_repo_path: Annotated[str, _CODE_PATH]) -> Json:
        """Take the guard out of a code repository and put back the hooks that were there.
        left: what somebody changed since and was not touched.
        """
        uninstalled = await installation.uninstall(await current_caller(), code_repo_path)
        return {"removed": uninstalled.removed, "left": list(uninstalled.left)}

    return [
        tool(
            install_precommit_guard,
            cluster="infrastructure",
            title="Guard a code repository",
            is_long=True,
            idempotent=True,
        ),
        tool(
            uninstall_precommit_guard,
            cluster="infrastructure",
            title="Stop guarding a code repository",
            is_long=True,
            destructive=True,
            idempotent=True,
        ),
    ]
