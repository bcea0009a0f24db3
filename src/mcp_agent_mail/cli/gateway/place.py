"""Where one stands: in a folder below a project's, without Git, that project is meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from mcp_agent_mail.cli.exit_codes import code_of
from mcp_agent_mail.core.errors import AgentMailError, NotFound

if TYPE_CHECKING:
    from mcp_agent_mail.cli.gateway.port import Gateway


class FolderGateway:
    """A gateway that asks again for the project around the current folder, where that folder is refused as no project:
    such a refusal has changed nothing. A Git work tree is a project of its own, and stays refused.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @property
    def is_in_process(self) -> bool:
        """As `Gateway.is_in_process`."""
        return self._gateway.is_in_process

    # The answers are plain JSON.
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """As `Gateway.call`."""
        try:
            return self._gateway.call(tool, arguments)
        except AgentMailError as refused:
            around = project_around(refused, arguments.get("project_key"))
            if around is None:
                raise
        return self._gateway.call(tool, {**arguments, "project_key": around})

    def read(self, uri: str) -> Any:
        """As `Gateway.read`."""
        try:
            return self._gateway.read(uri)
        except AgentMailError as refused:
            asked = quote(str(refused.data.get("path")), safe="")
            around = project_around(refused, refused.data.get("path"))
            if around is None or asked not in uri:
                raise
        return self._gateway.read(uri.replace(asked, quote(around, safe="")))

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        """As `Gateway.download`."""
        return self._gateway.download(slug, sha256)


def project_around(refused: AgentMailError, key: object) -> str | None:
    """The project in whose folder we stand, as the refusal of `key` names it; None where that is not our folder, or
    nothing is around it.
    """
    here = Path.cwd()
    is_unknown = code_of(refused) == NotFound.code and refused.data.get("parameter") == "project_key"
    if not is_unknown or key != str(here) or any((folder / ".git").exists() for folder in (here, *here.parents)):
        return None
    near = refused.data.get("nearest")
    around = [path for path in near if path in map(str, here.parents)] if isinstance(near, list) else []
    return str(max(around, key=len)) if around else None
