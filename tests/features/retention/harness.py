"""Old mail in a real store, and the service that lets it go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.messages import Message, NewRecipient
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.retention.service import Purge, PurgeRequest, RetentionRules, RetentionService
from mcp_agent_mail.store.mail.message_events import post
from tests.seeded_store import SeededStore

DAYS = 30


DAY_S = 86_400


OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.OPEN)


ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


@dataclass
class Attic:
    seeded: SeededStore
    path: Path
    paced: list[int]

    @property
    def contents(self) -> AttachmentFiles:
        return AttachmentFiles(self.path.parent / ATTACHMENTS_FOLDER)

    def service(self, *ignored: str) -> RetentionService:
        async def throttle() -> None:
            self.paced.append(1)

        return RetentionService(
            self.seeded.store,
            RetentionRules(max_age_days=DAYS, ignored=ignored),
            find_project=require_project,
            throttle=throttle,
            contents=self.contents,
            clock=self.seeded.clock,
        )

    async def purge(self, *, dry_run: bool = False, project: str = "/code/app", ignored: tuple[str, ...] = ()) -> Purge:
        request = PurgeRequest(project_key=project, max_age_days=None, dry_run=dry_run)
        return await self.service(*ignored).purge(OPERATOR, request)

    async def send(
        self,
        *to: NewRecipient | Agent,
        ack_required: bool = False,
        thread_id: str | None = None,
        carried: tuple[Attachment, ...] = (),
    ) -> Message:
        """From BlueLake; its archive is told and no event waits, as after a commit."""
        recipients = [one if isinstance(one, NewRecipient) else self.seeded.addressed([one])[0] for one in to]
        new = self.seeded.letter(
            self.seeded.blue, body="the secret plan", ack_required=ack_required, thread_id=thread_id
        )
        new = replace(new, attachments=carried)
        message, _ = await self.seeded.store.write(lambda tx: post(tx, new, recipients))
        return message

    async def commit(self) -> None:
        """As if all were in Git."""
        await self.seeded.store.write(
            lambda tx: tx.meta._connection.execute(
                "INSERT OR IGNORE INTO commits (id, project_id, hexsha, summary, authored_ts, last_seq)"
                f" VALUES (1, 1, '{'c' * 40}', 's', 1, 1)"
            )
        )
        await self.seeded.store.write(
            lambda tx: tx.meta._connection.execute("UPDATE outbox SET commit_id = 1, snapshot = NULL")
        )

    async def read(self, agent: Agent, message: Message) -> None:
        await self.seeded.store.write(lambda tx: tx.inboxes.mark_read(agent.id, message.id, tx.now))

    async def old(self, *to: Agent, thread_id: str | None = None, carried: tuple[Attachment, ...] = ()) -> Message:
        """Sent, read by all, in Git, and old."""
        message = await self.send(*to, thread_id=thread_id, carried=carried)
        for agent in to:
            await self.read(agent, message)
        await self.commit()
        self.seeded.clock.step(DAYS * DAY_S)
        return message

    async def found(self, message_id: MessageId) -> Message:
        message = await self.seeded.store.read(lambda view: view.messages.find(message_id))
        assert message is not None
        return message

    def searched(self) -> list[int]:
        sql = "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'secret'"
        return [row for (row,) in self.seeded.store._reading.execute(sql)]
