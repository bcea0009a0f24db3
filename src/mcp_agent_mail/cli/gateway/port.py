"""The one port of all data commands: the running server's tools and resources, or the same ones in process.

Which one, in this order:
1. AGENT_MAIL_URL is set: that server, with AGENT_MAIL_TOKEN.
2. A server owns the store in STORAGE_ROOT: that server, with the operator's token that lies beside its lock.
3. The store is there and nobody owns it: in process, under the store's lock.
4. There is no store here: the server that HTTP_HOST and HTTP_PORT name (it may run as another user). It serves another
   store, which is said; where STORAGE_ROOT or DATABASE_URL was given, that store was meant, and this one is refused.
   One that has begun this very store meanwhile is 2.

Commands that agents run (`CliContext.as_agent`) go the same ways with the agent's own token, and never the operator's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import NoServer
from mcp_agent_mail.cli.gateway.http import ANSWER_TIMEOUT_S, HttpGateway, Server, Unreachable
from mcp_agent_mail.cli.gateway.known_owner import NAME_IT, owner_with_address
from mcp_agent_mail.cli.gateway.place import FolderGateway
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.ids import OPERATOR_TOKEN_PREFIX

if TYPE_CHECKING:
    from mcp_agent_mail.cli.gateway.in_process import InProcessGateway

_PATIENCE_S = 5.0
"""How long to wait while a server starts or another command has the store."""


class OtherStore(NoServer):
    """What answers serves another store than the one that was named."""


class Gateway(Protocol):
    """Tools and resources by name, as the server runs them for its operator. Raises AgentMailError."""

    @property
    def is_in_process(self) -> bool:
        """Whether no server runs, and this process does what one would."""

    # The answers are plain JSON.
    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any: ...

    def read(self, uri: str) -> Any: ...

    def download(self, slug: str, sha256: str) -> Iterator[bytes]:
        """The content of an attachment of this project's mail, piece by piece."""


@contextmanager
def open_gateway(context: CliContext) -> Iterator[Gateway]:
    """The gateway to the data of these surroundings. Raises NoServer when there is none, DatabaseLost where only a
    database is missing.
    """
    with _open(context) as gateway:
        yield FolderGateway(WaitingGateway(gateway))


@contextmanager
def _open(context: CliContext) -> Iterator[Gateway]:
    server = find_server(context)
    if server is not None:
        _tell_of_unsent_token(context, server)
        with _over_http(server) as gateway:
            yield gateway
    elif context.may_own_store():
        _tell_of_unsent_token(context)
        with _in_process_or_http(context) as gateway:
            yield gateway
    else:
        context.require_not_lost()
        server = _require_at_settings_address(context)
        if not server.is_others:
            _tell_of_unsent_token(context, server)
        with _over_http(server) as gateway:
            yield gateway


def _tell_of_unsent_token(context: CliContext, server: Server | None = None) -> None:
    """Say on stderr that AGENT_MAIL_TOKEN does not count where the operator's right does, for the store of these
    surroundings. One that would be no other there is not mentioned.
    """
    token, opening = context.settings.agent_mail_token, context.settings.http_bearer_token
    if token is None or context.acts_as_agent or token == opening or token.reveal().startswith(OPERATOR_TOKEN_PREFIX):
        return
    if server is None or (server.bearer_token or "").startswith(OPERATOR_TOKEN_PREFIX):
        ours = f"the store in {context.storage_root} is your own, and you are its operator"
        sys.stderr.write(visible(f"Notice: AGENT_MAIL_TOKEN is not sent: {ours}.\n"))


def find_server(context: CliContext) -> Server | None:
    """The server that was named, or that owns the store and answers."""
    named_url = context.named_url()
    if named_url is not None:
        return server_at(named_url, context)
    owner = owner_with_address(context)
    if owner is None or owner.url is None:
        return None
    server = server_at(owner.url, context)
    gateway = HttpGateway(server)
    try:
        gateway.connect()
    except Unreachable:
        return None
    finally:
        gateway.close()
    return server


def require_server(context: CliContext, *, within_s: float = _PATIENCE_S) -> Server:
    """The running server of these surroundings, for what cannot be done without one. Raises NoServer.

    Who listens and does not answer is waited for so many seconds at most: that it does not is for the caller to see.
    """
    server = find_server(context)
    if server is not None:
        return server
    if context.may_own_store():
        raise _not_found(context)
    context.require_not_lost()
    return _require_at_settings_address(context, answer_timeout_s=within_s)


def _not_found(context: CliContext) -> NoServer:
    """Nobody has the store, or somebody who does not say where it listens."""
    owner = context.owner()
    if owner is None:
        return NoServer(f"No server runs for the store in {context.storage_root}.", hint="Start one with: am serve")
    return NoServer(
        f"The store in {context.storage_root} is in use by {f'process {owner.pid}' if owner.pid else 'another process'}"
        ", and no server is known for it.",
        hint=f"Wait until it is done. {NAME_IT}",
        data={"pid": owner.pid},
    )


def server_at(url: str, context: CliContext) -> Server:
    """An agent's own token goes along only where nothing proves the operator: it would make us that agent."""
    bearer_token = context.bearer_token_for(url)
    is_operator = bearer_token is not None and bearer_token.startswith(OPERATOR_TOKEN_PREFIX)
    return Server(
        url=url,
        bearer_token=bearer_token,
        agent_token=None if is_operator else context.agent_token(),
        is_named=url == context.named_url(),
        is_others=url not in (context.named_url(), context.owner_url()),
    )


@contextmanager
def _over_http(server: Server, *, answer_timeout_s: float = ANSWER_TIMEOUT_S) -> Iterator[Gateway]:
    gateway = HttpGateway(server, answer_timeout_s=answer_timeout_s)
    gateway.connect()
    try:
        yield gateway
    finally:
        gateway.close()


@contextmanager
def _in_process_or_http(context: CliContext) -> Iterator[Gateway]:
    """Whoever has the store now: ourselves, or a server that has just started."""
    taken = _take_store_or_find_server(context)
    if isinstance(taken, Server):
        with _over_http(taken) as gateway:
            yield gateway
        return
    try:
        yield taken
    finally:
        taken.close()


def _take_store_or_find_server(context: CliContext) -> InProcessGateway | Server:
    """Raises StoreInUse when somebody keeps the store and does not serve it."""
    # The services are imported only where no server answers: 0.15 s.
    from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
    from mcp_agent_mail.core.tools import Credentials
    from mcp_agent_mail.store.engine.lock import StoreInUse

    agent = Credentials(via="local", agent_token=context.agent_token()) if context.acts_as_agent else None
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        gateway = InProcessGateway(context.settings, caller=agent)
        try:
            gateway.open()
        except StoreInUse:
            server = find_server(context)
            if server is not None:
                return server
            if time.monotonic() >= give_up_at:
                raise
        else:
            return gateway


def _require_at_settings_address(context: CliContext, *, answer_timeout_s: float = ANSWER_TIMEOUT_S) -> Server:
    """Raises NoServer where none answers there, and OtherStore."""
    url = context.settings_url()
    # An agent's tokens go to who was named or has the store, as those of its hooks do.
    server = Server(url=url, is_others=True) if context.acts_as_agent else server_at(url, context)
    try:
        with _over_http(server, answer_timeout_s=answer_timeout_s) as gateway:
            which = served_store(gateway)
    except Unreachable as nobody:
        raise NoServer(
            f"There is no store in {context.storage_root} yet, and no server answers at {url}.",
            hint="Start one with: am serve",
        ) from nobody
    # One that has only now begun this store has noted its address before it answers.
    if (ours := find_server(context)) is not None:
        return ours
    _tell_of_another_store(which, url, context)
    return server


def _tell_of_another_store(which: str | None, url: str, context: CliContext) -> None:
    """Nobody owns the store of these surroundings, so whoever answers serves another. Raises OtherStore."""
    another = f"The server at {url} serves another store{f' ({which})' if which else ''}"
    if context.names_store:
        raise OtherStore(
            f"There is no store in {context.storage_root} yet. {another}.",
            hint=f"Start this one's: am serve --port 0. To use the other one: AGENT_MAIL_URL={url} am ...",
        )
    sys.stderr.write(visible(f"Notice: there is no store in {context.storage_root}. {another}, and this is from it.\n"))


def served_store(gateway: Gateway) -> str | None:
    """The store that a server says it serves; None where it does not tell us."""
    try:
        return str(gateway.call("health_check", {})["database_url"])
    except (AgentMailError, KeyError, TypeError):
        return None
