"""Where `am setup` stands: the path of `am`, the address that clients are given, and the server behind it."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from mcp_agent_mail.cli.context import CliContext, load_context, read_client_settings
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server, Unreachable
from mcp_agent_mail.cli.gateway.port import find_server, server_at
from mcp_agent_mail.clients.setup.contract_wishes import SetupSettings
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.proof import retire_scratch_agents
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.home_folder import home_folder

_MCP_PATHS = ("/mcp", "/api")
_WITHIN_S = 5.0


class SecretInAddress(InvalidInput):
    """The address that clients would be given holds a secret, and Git may track their files."""


def surroundings() -> Surroundings:
    return Surroundings(home=Path(home_folder(os.environ)), environ=os.environ)


def settings_for(context: CliContext) -> SetupSettings:
    """What clients are told: the server that was named, else the one that owns the store, else that of the settings."""
    has_token = context.settings.agent_mail_token is not None or context.settings.http_bearer_token is not None
    return SetupSettings(am=path_of_am(), url=_mcp_url(context), has_token=has_token)


def path_of_am() -> str:
    """The absolute path of this very `am`: by the name on PATH where that is it, which outlives a new version."""
    own = Path(sys.executable).absolute().with_name("am")
    on_path = shutil.which("am")
    if on_path is not None and (not own.exists() or os.path.realpath(on_path) == os.path.realpath(own)):
        return str(Path(on_path).absolute())
    return str(own)


def notes_on(context: CliContext, settings: SetupSettings) -> list[str]:
    """What could surprise whoever starts a client later."""
    notes = []
    if context.named_url() is None and not settings.url.startswith(context.settings_url()):
        notes.append(
            f"The server listens at {settings.url}, and the settings say {context.settings_url()}: after a restart "
            "the entries may lead nowhere. Set HTTP_PORT, and run am setup again."
        )
    if (named := context.settings.agent_mail_url) is not None:
        notes.append(f"Hooks find the server by their environment: set AGENT_MAIL_URL={named} where clients start.")
    elif context.names_store:
        notes.append(
            f"Hooks find the store by their environment: set STORAGE_ROOT={context.storage_root} where clients start."
        )
    return notes


def require_server(context: CliContext) -> HttpGateway:
    """An open gateway to the server, which is started in the background if need be. Raises NoServer."""
    found = find_server(context)
    if found is None and not context.may_own_store():
        # It may run as another user, as for every other command.
        elsewhere = HttpGateway(server_at(context.settings_url(), context))
        try:
            elsewhere.connect()
        except Unreachable:
            pass
        else:
            return elsewhere
    gateway = HttpGateway(found or _started(context))
    gateway.connect()
    return gateway


def retire_left_agents(project: Path) -> None:
    """The scratch agents that a killed proof has left, where a server runs: none is started for that."""
    with suppress(AgentMailError):
        found = find_server(load_context(is_among_strangers=True))
        if found is None:
            return
        gateway = HttpGateway(found, answer_timeout_s=_WITHIN_S)
        try:
            gateway.connect()
            retire_scratch_agents(gateway.call, project)
        finally:
            gateway.close()


def _started(context: CliContext) -> Server:
    from mcp_agent_mail.cli.stdio.upstream import Upstream

    Upstream(read_client_settings(None), tell=_tell).connect().close()
    found = find_server(context)
    if found is None:
        raise NoServer("The server that was started is gone again.", hint="Look at `am status`.")
    return found


def _tell(words: str) -> None:
    sys.stderr.write(f"{visible(words)}\n")


def _mcp_url(context: CliContext) -> str:
    named = context.settings.agent_mail_url
    if named is not None:
        if "@" in urlsplit(named).netloc:
            raise SecretInAddress(
                "AGENT_MAIL_URL names a user or a password, which would stand in the clear in clients' files.",
                hint="Leave out what stands before the @, and give a token as AGENT_MAIL_TOKEN: files name that.",
            )
        bare = named.rstrip("/")
        known = (*_MCP_PATHS, context.settings.http_path.rstrip("/"))
        return bare if any(path and bare.endswith(path) for path in known) else f"{bare}/mcp"
    return f"{context.owner_url() or context.settings_url()}/mcp"
