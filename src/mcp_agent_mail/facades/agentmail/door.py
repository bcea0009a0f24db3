"""`POST /agentmail/<question>`: each converts, calls one use case, and shows what came back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.facades.agentmail.fields import QuestionFields
from mcp_agent_mail.facades.asgi import AsgiParts, DoorRequest, PlainAnswer, Receive, Send
from mcp_agent_mail.features.doors.service import MAX_WAIT_S
from mcp_agent_mail.features.doors.window_service import WindowSweepRequest

PART = "/agentmail/"

STATUSES: Mapping[str, AgentStatus] = {
    "ready": AgentStatus.READY,
    "work": AgentStatus.BUSY,
    "offline": AgentStatus.OFFLINE,
}
"""By AgentMail's words."""
_WORDS = {status: word for word, status in STATUSES.items()}
MAX_HOURS = 1_000_000


class UnknownQuestion(NotFound):
    """The door has no such path."""


class AgentMailDoor:
    """A message is given to a command for as long as it takes to print: `settle` says what became of it."""

    open_paths: frozenset[str] = frozenset()

    def __init__(self, services: Services, parts: AsgiParts) -> None:
        self._doors = services.doors
        self._mailboxes = services.window_mailboxes
        self._parts = parts
        self._questions: Mapping[str, Callable[[QuestionFields], Awaitable[Json]]] = {
            "send": self._send,
            "pop": self._pop,
            "settle": self._settle,
            "rename": self._rename,
            "names": self._names,
            "status": self._status,
            "watch": self._watch,
            "cleanup": self._cleanup,
        }

    def speaks_mcp(self, _path: str) -> bool:
        return False

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """There is nothing to open."""
        yield

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        """Answer one question of the command's."""

        async def work(body: bytes) -> PlainAnswer:
            if request.method != "POST":
                return PlainAnswer(
                    value={"detail": f"Use POST {request.path}."}, status=405, headers=((b"allow", b"POST"),)
                )
            if not self._parts.is_json(request):
                return PlainAnswer(value={"detail": "Send Content-Type: application/json."}, status=415)
            question = self._questions.get(request.path[len(PART) :])
            if question is None:
                raise UnknownQuestion(
                    f"AgentMail's door has no {request.path!r:.200}.",
                    hint=f"It has {', '.join(sorted(self._questions))}.",
                )
            return PlainAnswer(value=await question(QuestionFields(body)))

        await self._parts.answer_plain(request, receive, send, work)

    async def _send(self, said: QuestionFields) -> Json:
        sent = await self._doors.send(
            said.caller(), said.text("to"), said.text("body"), makes_recipient=said.flag("window")
        )
        return {"id": sent.id, "held": sent.held}

    async def _pop(self, said: QuestionFields) -> Json:
        popped = await self._doors.pop(said.caller(), wait_s=0, settles_itself=True)
        if popped is None:
            return {"message": None}
        return {
            "message": {"from": popped.sender, "id": popped.id, "body": popped.body, "ticket": popped.claim},
        }

    async def _settle(self, said: QuestionFields) -> Json:
        ticket, settle = said.text("ticket"), self._doors.settle_claimed
        return {"done": await (settle if said.flag("heard") else self._doors.give_back_claimed)(ticket)}

    async def _rename(self, said: QuestionFields) -> Json:
        return {"renamed": await self._mailboxes.rename(said.caller(), said.text("was"))}

    async def _names(self, said: QuestionFields) -> Json:
        return {"names": await self._mailboxes.names(said.caller())}

    async def _status(self, said: QuestionFields) -> Json:
        word = said.text("status")
        if word not in STATUSES:
            raise InvalidInput(
                f"Invalid status: {word:.100}. Valid: {', '.join(STATUSES)}", data={"parameter": "status"}
            )
        await self._mailboxes.set_status(said.caller(), STATUSES[word])
        return {"status": "ok"}

    async def _watch(self, said: QuestionFields) -> Json:
        state = await self._mailboxes.watch(
            said.caller(),
            said.names("windows"),
            seen=said.text("seen") if said.has("seen") else None,
            wait_s=said.whole("wait_s", 0, MAX_WAIT_S),
        )
        return {
            "seen": state.seen,
            "mailboxes": [
                {
                    "name": one.name,
                    "unread": one.unread,
                    "status": _WORDS.get(one.status, "work"),
                    "status_since": None if one.status_ts is None else one.status_ts / SECOND,
                }
                for one in state.mailboxes
            ],
        }

    async def _cleanup(self, said: QuestionFields) -> Json:
        done = await self._mailboxes.clean_up(
            said.caller(),
            WindowSweepRequest(
                windows=said.names("windows") if said.has("windows") else None,
                stale_hours=said.whole("stale_hours", 0, MAX_HOURS),
                read_hours=said.whole("delivered_hours", 0, MAX_HOURS),
                counted_to=Micros(said.whole("counted_to", 0, 2**62)),
                dry_run=said.flag("dry_run"),
            ),
        )
        return {
            "offline": done.offline,
            "stale": done.stale,
            "messages": done.messages,
            "mailboxes": done.mailboxes,
            "counted_to": done.counted_to,
        }
