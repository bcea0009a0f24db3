"""The messaging slice over a real store, called as a server calls it: through the tables, with credentials."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError, PermissionDenied
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, ToolTable, current_credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.contacts import ContactRules
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.features.archiving.backpressure import Backpressure
from mcp_agent_mail.features.contacts.consent import DeliveryPolicy
from mcp_agent_mail.features.messaging.attachments import Prepare
from mcp_agent_mail.features.messaging.contents import ContentReader, MailAttachments
from mcp_agent_mail.features.messaging.resources import messaging_resources
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.messaging.tools import messaging_tools
from mcp_agent_mail.store.database import Store
from tests.seeded_store import SeededStore, open_seeded_store, token_of

NOBODY = Credentials(via="mcp")
OPERATOR = Credentials(via="local", bearer_token="amo_operator")
APP = "/code/app"
LIB = "/code/lib"
BODY_MAX_BYTES = 3 * 1024 * 1024


@dataclass
class Identities:
    """Credentials to callers, as `features/identity` judges them; tokens are those of `tests.seeded_store`."""

    store: Store
    auth: AgentAuth = AgentAuth.OPEN

    async def caller(self) -> Caller:
        credentials = current_credentials()
        if credentials.bearer_token == OPERATOR.bearer_token:
            return Caller(kind=CallerKind.OPERATOR, auth=self.auth)
        token = credentials.token_argument or credentials.agent_token
        if token is None:
            return Caller(kind=CallerKind.ANONYMOUS, auth=self.auth)
        agent = await self.store.read(lambda view: view.agents.find_by_token_hash(token_hash(token)))
        if agent is None:
            raise PermissionDenied("The token is unknown.")
        return Caller(
            kind=CallerKind.AGENT,
            auth=self.auth,
            agent_id=agent.id,
            agent_name=agent.name,
            project_id=agent.project_id,
        )


@dataclass
class MessagingHarness:
    """`noted` is every agent that was seen acting."""

    seeded: SeededStore
    identities: Identities
    tools: ToolTable
    resources: ResourceTable
    noted: list[str]
    service: MessagingService

    def proof(self, agent: Agent) -> Credentials:
        project = self.seeded.app if agent.project_id == self.seeded.app.id else self.seeded.lib
        return Credentials(via="mcp", agent_token=token_of(agent.name, project))

    async def call(self, tool: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.tools.run(tool, {"project_key": APP, **arguments}, credentials)

    async def read(self, uri: str, credentials: Credentials = NOBODY) -> Any:
        return await self.resources.read(f"resource://{uri}", credentials)

    async def send(self, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        """From BlueLake to RedStone unless said otherwise."""
        given = {"sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan", "body_md": "body", **arguments}
        return await self.call("send_message", credentials, **given)

    async def sent_id(self, **arguments: Any) -> int:
        sent = await self.send(**arguments)
        number = sent["deliveries"][0]["payload"]["id"]
        assert isinstance(number, int)
        return number

    async def inbox(self, agent: str, **arguments: Any) -> Any:
        return await self.call("fetch_inbox", agent_name=agent, **arguments)

    @contextmanager
    def written(self) -> Iterator[dict[str, str]]:
        """The statements of units of work meanwhile, and with what word each begins: neither a trigger's nor those of
        the full-text index.
        """
        statements: dict[str, str] = {}

        def note(sql: str) -> None:
            if not sql.startswith(("PRAGMA", "--")) and "_fts_" not in sql:
                statements[sql] = sql.split(maxsplit=1)[0]

        connection = self.seeded.store._writer._connection
        connection.set_trace_callback(note)
        yield statements
        connection.set_trace_callback(None)

    def rows(self, sql: str, *values: object) -> list[Any]:
        return self.seeded.store._reading.execute(sql, values).fetchall()


@asynccontextmanager
async def open_messaging(
    directory: Path,
    *,
    enforced: bool = False,
    inbox_limit: int = 0,
    attachments_limit_bytes: int = 0,
    prepare: Prepare | None = None,
    contents: ContentReader | None = None,
) -> AsyncIterator[MessagingHarness]:
    """Contact policies are off unless `enforced`: tests of consent switch them on."""
    async with open_seeded_store(directory) as seeded:
        noted: list[str] = []
        identities = Identities(seeded.store)
        service = MessagingService(
            seeded.store,
            body_max_bytes=BODY_MAX_BYTES,
            note_activity=lambda agent: noted.append(agent.name),
            throttle=Backpressure().keep,
            clock=seeded.clock,
            delivery=DeliveryPolicy(
                rules=ContactRules(enforced=enforced),
                inbox_limit=inbox_limit,
                attachments_limit_bytes=attachments_limit_bytes,
            ),
            attachments=MailAttachments(prepare=prepare, contents=contents),
        )
        yield MessagingHarness(
            seeded,
            identities,
            ToolTable(messaging_tools(service, identities.caller)),
            ResourceTable(messaging_resources(service, identities.caller)),
            noted,
            service,
        )


async def refused_send(harness: MessagingHarness, **arguments: Any) -> AgentMailError:
    """The refusal of a send, which must leave no trace."""
    before = traces(harness)
    with pytest.raises(AgentMailError) as error:
        await harness.send(**arguments)
    assert traces(harness) == before
    return error.value


def traces(harness: MessagingHarness) -> list[Any]:
    tables = ("messages", "recipients", "message_projects", "outbox", "idempotency_keys", "counters")
    return [
        *(harness.rows(f"SELECT * FROM {table}") for table in tables),
        harness.rows("SELECT unread_count FROM agents"),
    ]
