"""What a command finds under the database's name is the store only as long as the server that has the store open says
so: SQLite would read another file there together with that server's log, and call the mixture sound.
"""

from __future__ import annotations

from contextlib import closing, suppress

from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.gateway.http import HttpGateway
from mcp_agent_mail.cli.gateway.known_owner import owner_with_address
from mcp_agent_mail.cli.gateway.port import server_at
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.store.engine.sqlite.faults import TAKEN_AWAY

_ANSWER_TIMEOUT_S = 6.0


class ServedElsewhere(Unavailable):
    """The files of the database are not those that the server of this store has open."""


def require_served_files(context: CliContext) -> None:
    """Raise ServedElsewhere. A server that is busy, silent or older tells nothing, and holds no command up for long."""
    owner = owner_with_address(context)
    if owner is None or owner.url is None:
        return
    said: object = None
    gateway = HttpGateway(server_at(owner.url, context), answer_timeout_s=_ANSWER_TIMEOUT_S)
    with suppress(AgentMailError), closing(gateway):
        said = WaitingGateway(gateway).call("health_check", {})["store"]["last_error"]
    if isinstance(said, str) and said.startswith(TAKEN_AWAY):
        raise ServedElsewhere(
            f"What is at {context.settings.database_path} is not what the server at {owner.url} has open: it was not "
            "read.",
            hint="am status says which file is gone, and what to do.",
            data={"path": str(context.settings.database_path), "url": owner.url},
        )
