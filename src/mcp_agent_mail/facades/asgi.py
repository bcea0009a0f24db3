"""What a door is handed of HTTP, and what it gives back: requests that were let in, and the parts to answer them with.

The names of ASGI stand here once more, since doors know no HTTP framework.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Protocol

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Credentials, Json
from mcp_agent_mail.facades.tool_door import DoorTools

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRequest:
    """One HTTP request to a door, whose Host, Origin and token were judged. `headers` have their names in lower case,
    of a repeated one the last value; `query` is decoded, of a repeated key the last. `opener` is whose token it was.
    """

    scope: Scope
    headers: Mapping[bytes, bytes]
    query: Mapping[str, str]
    credentials: Credentials
    request_id: str
    opener: str | None

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    def named(self, name: str) -> DoorRequest:
        """The same request, of whom its door takes its caller to be."""
        return replace(self, credentials=replace(self.credentials, door_name=name))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAnswer:
    """What a plain request is answered with: any JSON. With another status than 200 nothing was handed over."""

    value: Json
    status: int = 200
    headers: tuple[tuple[bytes, bytes], ...] = ()


class DoorApp(Protocol):
    """A door. Requests are answered between `opened`'s entry and exit; `open_paths` are those that need no token."""

    @property
    def open_paths(self) -> frozenset[str]: ...

    def speaks_mcp(self, path: str) -> bool:
        """Whether MCP is spoken at this path of the door: each refusal there is an error of it."""
        ...

    def opened(self) -> AbstractAsyncContextManager[None]: ...

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None: ...


class McpDoor(Protocol):
    """A door's own MCP endpoint, for both protocol eras: its tools alone, in its words, with no resources, prompts or
    instructions; no profile and no output format of ours changes anything.
    """

    def opened(self) -> AbstractAsyncContextManager[None]: ...

    async def answer(self, request: DoorRequest, receive: Receive, send: Send) -> None:
        """Answer one request, as that of whom it is named after, whichever session it names: one that is not known
        (any more) is served without. What a call takes from a mailbox is read once its answer was written.
        """
        ...


class AsgiParts(Protocol):
    """What the server hands to doors."""

    def mcp(self, tools: DoorTools) -> McpDoor:
        """An endpoint for these tools, to be opened with its door. Their calls are counted and told as all are."""
        ...

    async def read(self, receive: Receive) -> tuple[bytes, Receive]:
        """The whole body, and what gives it once more to whoever answers. One beyond the bounds is refused above."""
        ...

    async def answer_plain(
        self, request: DoorRequest, receive: Receive, send: Send, work: Callable[[bytes], Awaitable[PlainAnswer]]
    ) -> None:
        """Answer with what `work` makes of the request's body, which is bounded. It runs as a call by the request's
        credentials, so that what it takes from a mailbox is read once this answer was written, and only then. What it
        raises is answered as everywhere: `{"error": …}` with a status that fits; a bug is INTERNAL.
        """
        ...

    def fitted(self, error: AgentMailError) -> AgentMailError:
        """The refusal without what leads to tools of this server's own, for a door that words it itself. What MCP and
        `answer_plain` answer with is fitted there.
        """
        ...

    def is_json(self, request: DoorRequest) -> bool:
        """Whether the request says that its body is JSON: a form of a foreign web page cannot."""
        ...
