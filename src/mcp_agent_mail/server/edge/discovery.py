"""What clients ask below `/.well-known/` before they sign in: who issues tokens for this server, if anybody does."""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import Send

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.server.edge.paths import WELL_KNOWN
from mcp_agent_mail.server.rendering.responses import send_value

RESOURCE = f"{WELL_KNOWN}oauth-protected-resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Where tokens for this server come from. `base_url` is this server's own address, as its operator names it: no
    header of a request is ever echoed. `issuer` is a URL.
    """

    base_url: str
    issuer: str

    def challenge(self) -> bytes:
        """What `WWW-Authenticate` says, so that clients find the document."""
        return f'Bearer resource_metadata="{self.base_url}{RESOURCE}"'.encode()

    def document(self, path: str) -> dict[str, object]:
        """RFC 9728. `path` is the MCP path that was asked for, empty for the server."""
        return {
            "resource": f"{self.base_url}{path}",
            "authorization_servers": [self.issuer],
            "scopes_supported": [role.word for role in Role],
            "bearer_methods_supported": ["header"],
        }


class Discovery:
    """Without `sign_in` there is nothing to be found, and clients are told so."""

    def __init__(self, sign_in: SignIn | None, mcp_paths: Collection[str]) -> None:
        self._sign_in = sign_in
        self._mcp_paths = mcp_paths

    async def answer(self, path: str, send: Send) -> None:
        """The document, for this server and for each path of MCP; 404 for all else that clients look for."""
        asked = path.removeprefix(RESOURCE)
        if self._sign_in is not None and path.startswith(RESOURCE) and (not asked or asked in self._mcp_paths):
            await send_value(send, 200, self._sign_in.document(asked.rstrip("/")))
        else:
            await send_value(send, 404, {"mcp_oauth": False})
