"""The five tools, by the names and parameters that this door's users know. Their texts are what agents read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.params import Text
from mcp_agent_mail.core.tools import Json, ToolSpec, current_credentials, tool
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.facades.claude_mailbox import answers
from mcp_agent_mail.facades.claude_mailbox.callers import CallerMissing, caller_of, require_name
from mcp_agent_mail.facades.tool_door import DoorAnswer, DoorTools
from mcp_agent_mail.features.doors.mailbox_service import MailboxService
from mcp_agent_mail.features.doors.requests import DoorCaller
from mcp_agent_mail.features.doors.service import DoorService

SERVER_NAME = "claude-mailbox"
_NAME = Text(2_000)
_BODY = Text(2**31, raw=True)


def mailbox_tools(doors: DoorService, mailboxes: MailboxService) -> list[ToolSpec]:
    """Whose call it is is said by an argument, else by the request's header."""

    async def send(
        *,
        to: Annotated[str, _NAME],
        body: Annotated[str, _BODY],
        sender: Annotated[str | None, _NAME] = None,
    ) -> Json:
        """Send a message to another mailbox. `from` is your own mailbox, unless the X-Mailbox header says it."""
        caller = _caller(sender, "from")
        sent = await doors.send(caller, require_name(to), body)
        return answers.show_sent(sent, sender=caller.name, to=to)

    async def check_inbox(*, name: Annotated[str | None, _NAME] = None) -> Json:
        """Pull all pending messages for your mailbox, oldest first. They are marked delivered: nobody gets them again.
        `name` is your mailbox, unless the X-Mailbox header says it.
        """
        return answers.show_checked(await mailboxes.check(_caller(name, "name")))

    async def peek_inbox(*, name: Annotated[str | None, _NAME] = None) -> Json:
        """How many messages are pending, and since when the oldest: takes none. Call check_inbox if there are any."""
        return answers.show_pending(await doors.pending(_caller(name, "name")))

    async def list_mailboxes(*, name: Annotated[str | None, _NAME] = None) -> Json:
        """The known mailboxes, last seen first, and who has mail for you. `name` is your mailbox, unless the X-Mailbox
        header says it.
        """
        said = name or current_credentials().door_name
        caller = None if said is None else caller_of(require_name(said))
        return answers.show_mailboxes(await mailboxes.list_(Door.CLAUDE_MAILBOX, caller))

    async def rename(*, to: Annotated[str, _NAME], sender: Annotated[str | None, _NAME] = None) -> Json:
        """Call your mailbox something else; pending messages come along. Use the new name from then on. `from` is its
        name until now, unless the X-Mailbox header says it.
        """
        return answers.show_renamed(await mailboxes.rename(_caller(sender, "from"), require_name(to)))

    return [
        _with_from(tool(send, cluster=SERVER_NAME, title="Send a message")),
        tool(check_inbox, cluster=SERVER_NAME, title="Take all messages", destructive=True, result_list=True),
        tool(peek_inbox, cluster=SERVER_NAME, title="Count messages", read_only=True, idempotent=True),
        tool(list_mailboxes, cluster=SERVER_NAME, title="List mailboxes", idempotent=True, result_list=True),
        _with_from(tool(rename, cluster=SERVER_NAME, title="Rename your mailbox")),
    ]


def door_tools(doors: DoorService, mailboxes: MailboxService) -> DoorTools:
    """As the server serves them over MCP: a list is the text, and stands under `result` for programs."""
    return DoorTools(
        server_name=SERVER_NAME,
        tools=mailbox_tools(doors, mailboxes),
        show_result=_show_result,
        show_error=_show_error,
    )


def _show_result(spec: ToolSpec, result: Json) -> DoorAnswer:
    text = json.dumps(result, ensure_ascii=False)
    return DoorAnswer(text=text, structured={"result": result} if spec.result_list else result)


def _show_error(_name: str, error: AgentMailError) -> DoorAnswer:
    """One line: the fact, and the next step where there is one."""
    return DoorAnswer(text=error.text if error.hint else error.message)


def _caller(argument: str | None, what: str) -> DoorCaller:
    """Raises CallerMissing and UnfitWireName."""
    name = argument or current_credentials().door_name
    if name is None:
        raise CallerMissing(
            f"{what} is required",
            hint="Name your mailbox by it, or by the X-Mailbox header of the connection.",
            data={"parameter": what},
        )
    return caller_of(require_name(name))


def _with_from(spec: ToolSpec) -> ToolSpec:
    """The parameter `sender` is called `from`, which no function of ours can have."""

    async def handler(**given: Json) -> Json:
        return await spec.handler(**{_SENDER.get(name, name): value for name, value in given.items()})

    params = {_FROM.get(name, name): replace(param, name=_FROM.get(name, name)) for name, param in spec.params.items()}
    schema = {**spec.schema, "properties": {_FROM.get(k, k): v for k, v in spec.schema["properties"].items()}}
    return replace(spec, handler=handler, params=params, schema=schema)


_FROM: Mapping[str, str] = {"sender": "from"}
_SENDER: Mapping[str, str] = {"from": "sender"}
