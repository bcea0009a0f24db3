"""Where `am setup` stands: the path of `am`, the address that clients are given, and the server behind it."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from mcp_agent_mail.cli.context import CliContext, load_context, read_client_settings
from mcp_agent_mail.cli.exit_codes import NoServer, WireError
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server, Stranger, Unreachable
from mcp_agent_mail.cli.gateway.port import find_server
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.clients.setup.contract_wishes import SetupSettings
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.proof import retire_scratch_agents
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.home_folder import home_folder
from mcp_agent_mail.core.settings.mcp_paths import with_mcp_path

_WITHIN_S = 5.0
_ELSEWHERE = "A server elsewhere is named by AGENT_MAIL_URL."


class SecretInAddress(InvalidInput):
    """The address that clients would be given holds a secret, and Git may track their files."""


class AddressUnsaid(NoServer):
    """There is a token for a server, and nothing says which: one that is started here would not take it."""


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
    """An open gateway to the server, which is started in the background if need be. Raises NoServer, also
    where what answers is none of ours.
    """
    gateway = HttpGateway(_find_ours(context) or _started(context))
    gateway.connect()
    return gateway


def fault_of_server(context: CliContext) -> str | None:
    """Why `am setup` would find no server and write nothing, in one line. Starts none."""
    try:
        found = _find_ours(context)
        if found is not None:
            HttpGateway(found).check()
    except NoServer as fault:
        return f"am setup would write nothing, and end with 69: {fault.message} {fault.hint}".rstrip()
    return None


def _find_ours(context: CliContext) -> Server | None:
    """The server that clients are to be given; None where it is to be started. Ours is the one that holds the lock of
    the store, or that was named. Raises NoServer.

    Other commands read from whatever answers where the settings point: this one would write it down for good.
    """
    found = find_server(context)
    if found is None:
        if not context.may_own_store():
            try:
                _require_nobody(context)
            except NoServer:
                if (begun := find_server(context)) is None:
                    raise
                return begun  # It serves this very store, since a moment.
            _require_startable(context)
    elif context.named_url() is not None:
        with suppress(WireError):  # What it refuses is for the proof to say.
            _store_at(found)
    return found


def _require_nobody(context: CliContext) -> None:
    """Raises NoServer where something listens at the address of the settings, while there is no store here. It is asked
    without any token.
    """
    url = context.settings_url()
    hint = f"Set HTTP_PORT to a port that is free, here and where clients start, and run am setup again. {_ELSEWHERE}"
    meant = f" If that server is meant: AGENT_MAIL_URL={url} am setup"
    try:
        who, hint = f"the agent-mail server at {url} serves another one ({_store_at(Server(url=url))})", hint + meant
    except Unreachable:
        return
    except NoServer:
        who = f"what listens at {url} does not answer as an agent-mail server"
    except AgentMailError as refused:
        who, hint = f"what listens at {url} refuses to say whose it is ({refused.message})", hint + meant
    raise NoServer(f"There is no store in {context.storage_root} yet, and {who}.", hint=hint)


def _require_startable(context: CliContext) -> None:
    """Raises AddressUnsaid where a token came along that no server started here would take: it has issued none yet, and
    its own is another.
    """
    token, own = context.settings.agent_mail_token, context.settings.http_bearer_token
    if token is None or (own is not None and token.reveal() == own.reveal()):
        return
    raise AddressUnsaid(
        f"AGENT_MAIL_TOKEN is set, and AGENT_MAIL_URL does not say which server it is for. There is no store in "
        f"{context.storage_root}, and a server that was started for one would not take that token.",
        hint="Name the server: AGENT_MAIL_URL=https://mail.example.org am setup, and set it where clients start. For a "
        "server of your own here, unset AGENT_MAIL_TOKEN.",
    )


def _store_at(server: Server) -> str:
    """The store that an agent-mail server says it serves. Raises Unreachable where nobody listens, NoServer where
    nothing of ours answers in time, and what the server refuses.
    """
    gateway = HttpGateway(server, answer_timeout_s=_WITHIN_S)
    try:
        gateway.connect()
        health = WaitingGateway(gateway).call("health_check", {})
    except Stranger as stranger:
        raise NoServer(f"{server.url}: {stranger.message}", hint=stranger.hint) from stranger
    finally:
        gateway.close()
    if not isinstance(health, dict) or "database_url" not in health:
        raise NoServer(
            f"What answers at {server.url} is no agent-mail server.",
            hint="Check AGENT_MAIL_URL, HTTP_HOST and HTTP_PORT.",
        )
    return str(health["database_url"])


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
        return with_mcp_path(named, context.settings.http_path)
    return f"{context.owner_url() or context.settings_url()}/mcp"
