"""Tools of one's own: all that a package needs which adds some to a server, and the one path to it.

An entry point in the group `mcp_agent_mail.tools` names a function that is handed a `Host` and gives ToolSpecs, each
made by `tool`. A server loads it when CUSTOM_TOOLS has its name. docs/how-to/add-tools-of-your-own.md has an example.

```python
def tools(host: Host) -> list[ToolSpec]:
    async def count_mail(*, project_key: Annotated[str, PROJECT_KEY]) -> Json:
        '''How much mail somebody has. Returns {"count"}.'''
        ...

    return [tool(count_mail, title="Count mail", read_only=True)]
```
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn

from mcp_agent_mail.core.errors import (
    AgentMailError,
    Conflict,
    InvalidInput,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    Unavailable,
)
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.params import (
    AGENT_NAME,
    CALLER_NAME,
    LIMIT,
    PROJECT_KEY,
    Amount,
    Choice,
    Count,
    Duration,
    Flag,
    Id,
    Ids,
    Matching,
    ParamType,
    Text,
    Texts,
    Time,
)
from mcp_agent_mail.core.profiles import CUSTOM
from mcp_agent_mail.core.tools import Handler, Json, ToolSpec
from mcp_agent_mail.core.tools import tool as declare

__all__ = [
    "AGENT_NAME",
    "CALLER_NAME",
    "GROUP",
    "LIMIT",
    "PROJECT_KEY",
    "AgentMailError",
    "Amount",
    "Choice",
    "Conflict",
    "Count",
    "Duration",
    "Flag",
    "Host",
    "Id",
    "Ids",
    "InvalidInput",
    "Json",
    "Matching",
    "NotFound",
    "ParamType",
    "PermissionDenied",
    "QuotaExceeded",
    "Text",
    "Texts",
    "Time",
    "ToolCaller",
    "ToolSpec",
    "Unavailable",
    "tool",
]

GROUP = "mcp_agent_mail.tools"
"""The entry-point group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCaller:
    """Who makes a call. `agent` is one of `project`, an absolute directory. With `is_verified` a token proves it; else
    the connection says it, which anybody can, and both are None where it says nothing. `is_remote`: it calls from
    another machine.
    """

    agent: str | None = None
    project: str | None = None
    is_verified: bool = False
    is_operator: bool = False
    is_remote: bool = False


Identify = Callable[[], Awaitable[ToolCaller]]
Run = Callable[[str, Mapping[str, Json]], Awaitable[Json]]


async def _not_open(*_: object) -> NoReturn:
    raise RuntimeError("The server is not open yet: a Host is asked inside of a call alone.")


@dataclass(slots=True, kw_only=True)
class Host:
    """What the server lends to tools of others, for as long as a call of one runs. `identify` and `run` are the
    server's; in tests of your own put yours there.
    """

    identify: Identify = _not_open
    run: Run = _not_open

    async def caller(self) -> ToolCaller:
        """Who makes the running call."""
        return await self.identify()

    async def call(self, name: str, /, **arguments: Json) -> Json:
        """The plain result of one of the server's own tools, called as whoever makes the running call: with the same
        token and the same rights, validated as ever. Raises AgentMailError, which may be let through to the caller.
        """
        return await self.run(name, arguments)


def tool(
    handler: Handler,
    *,
    title: str,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    result_list: bool = False,
) -> ToolSpec:
    """Declare an async function as a tool. Its name is the function's, its text the docstring, its parameters are
    keywords that are annotated with a rule each (`Annotated[int, Count(1, 100)] = 20`). It answers with a JSON object,
    with `result_list` with an array.
    """
    return declare(
        handler,
        cluster=CUSTOM,
        title=title,
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        result_list=result_list,
    )
