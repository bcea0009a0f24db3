"""`am wait`: ends at the first mail. For shells and agents that start it in the background and are told when it ends.

It asks a running server in slices, so that no proxy and no restart ends it, and goes on where it was by a cursor. It
marks and takes nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mcp_agent_mail.cli.context import CliContext, load_context
from mcp_agent_mail.cli.exit_codes import ExitCode, code_of
from mcp_agent_mail.cli.gateway.busy_server import asked_to_wait_s
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server, Stranger
from mcp_agent_mail.cli.gateway.port import find_server, require_server
from mcp_agent_mail.cli.lazy_typer import LeanCommand
from mcp_agent_mail.cli.output import JsonFlag, print_json, print_text
from mcp_agent_mail.cli.project_option import project_key
from mcp_agent_mail.clients.hook.identity import look_at_git
from mcp_agent_mail.clients.hook.text import MAX_BYTES, fit, mail_lines, whole
from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass

FIRST_SLICE_S = 1
"""So the place in the feed is known before anything can go wrong."""
SLICE_S = 50
GONE_FOR_S = 60.0
_ANSWER_AFTER_S = 10.0
_FOUND_WITHIN_S = 5.0
_LATE_S = 2.0
"""What an answer gets to come once the time is over: a server that is well answers then."""
_PAUSES_S = (0.1, 0.3, 1.0, 2.0)

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command("wait", cls=LeanCommand)
def wait(
    agent: Annotated[
        str | None, typer.Argument(metavar="AGENT", help="Whose mail. Else AGENT_NAME, or Git's agent-mail.name.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            "-p",
            metavar="PROJECT",
            help="Path or slug. Else AGENT_MAIL_PROJECT, Git's agent-mail.project, the Git top level, the current "
            "directory.",
        ),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            "--after", metavar="CURSOR", min=0, help="Only what was delivered after it; else unread mail too."
        ),
    ] = None,
    urgent: Annotated[bool, typer.Option("--urgent", help="Only high and urgent mail.")] = False,
    timeout: Annotated[
        int, typer.Option("--timeout", metavar="S", min=1, max=86_400, help="Seconds to wait at most.")
    ] = 3_600,
    json: JsonFlag = False,
) -> int:
    """Wait for an agent's mail; it ends at the first.

    Nothing is marked as read. A restart of the server is survived, and so is a busy one. Exit codes: 0 mail, 75 none in
    that time, 1 refused, 2 usage, 69 no server, or none that answered for a minute or as the time ended.
    """
    context = load_context()
    _, of_git = look_at_git(os.getcwd(), os.environ)  # noqa: PTH109  # as hooks are told it
    name = agent or context.settings.agent_name or of_git.get("name")
    if not name:
        raise typer.BadParameter("Whose mail? Name the agent: am wait AGENT.", param_hint="AGENT")
    request = {
        "project_key": project_key(project or _of_git(context, of_git), context),
        "agent_name": name,
        "urgent_only": urgent,
    }
    answer = _Wait(context, request, after, timeout).run()
    if json:
        print_json(answer)
    elif answer["messages"]:
        print_text(_words(name, answer, urgent=urgent, project=str(request["project_key"])))
    else:
        sys.stderr.write(f"No mail within {timeout} s. Go on with --after {whole(answer['next_cursor'])}\n")
    return ExitCode.DONE if answer["messages"] else ExitCode.TRY_AGAIN


def _of_git(context: CliContext, said: dict[str, str]) -> str | None:
    """The project that Git's configuration names, where nothing before it in the order does."""
    return None if context.settings.agent_mail_project else said.get("project")


@dataclass(slots=True)
class _Wait:
    """One wait: its place in the feed, and since when there is no server."""

    context: CliContext
    # What the tool is asked, and what it answers: plain JSON.
    request: dict[str, Any]
    cursor: int | None
    timeout_s: int
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    # The answer is plain JSON.
    def run(self) -> dict[str, Any]:
        """The first answer with mail, or the last one. Raises what the server refuses, and Unavailable where there is
        none at first, for GONE_FOR_S, or as the time ends: who was not heard has not said that there is no mail. A
        server that has no room, and says when to come again, is there: it is asked until the time ends.
        """
        until = self.now() + self.timeout_s
        server = require_server(self.context, within_s=min(_FOUND_WITHIN_S, self.timeout_s))
        HttpGateway(server).check()
        heard_at, failures = self.now(), 0
        answer: dict[str, Any] | None = None
        while answer is None or failures or not (answer["messages"] or self.now() >= until):
            give_up_at = min(until, heard_at + GONE_FOR_S)
            # Who was not heard last is asked briefly: so what stands still is noticed in time.
            seconds = self._seconds(answer is None or failures > 0, until)
            within_s = min(seconds + _ANSWER_AFTER_S, max(seconds, give_up_at - self.now()) + _LATE_S)
            try:
                answer = self._slice(server, seconds, within_s)
                heard_at, failures = self.now(), 0
            except AgentMailError as failed:
                now_there = find_server(self.context) or server
                asked_s = asked_to_wait_s(failed)
                is_gone = asked_s is not None or code_of(failed) == Unavailable.code
                if asked_s is not None:
                    give_up_at = min(until, (heard_at := self.now()) + GONE_FOR_S)
                is_wrong_place = answer is None and isinstance(failed, Stranger)
                left_s = give_up_at - self.now()
                # Started anew it has another proof of the operator: what was refused may have been the old one.
                if left_s <= 0 or is_wrong_place or not (is_gone or now_there != server):
                    raise
                server = now_there
                self.pause(min(left_s, max(asked_s or 0, _PAUSES_S[min(failures, len(_PAUSES_S) - 1)])))
                failures += 1
        return answer

    def _seconds(self, is_first: bool, until: float) -> int:
        return max(1, min(FIRST_SLICE_S if is_first else SLICE_S, round(until - self.now())))

    # The answer is plain JSON.
    def _slice(self, server: Server, seconds: int, within_s: float) -> dict[str, Any]:
        """Without a cursor unread mail is found too, however old: so nothing is lost before the first answer."""
        gateway = HttpGateway(server, answer_timeout_s=within_s)
        place = {} if self.cursor is None else {"after_cursor": self.cursor}
        try:
            answer: dict[str, Any] = gateway.call("hook_wait", {**self.request, **place, "timeout_s": seconds})
        finally:
            gateway.close()
        self.cursor = int(answer["next_cursor"])
        return answer


def _words(agent: str, answer: dict[str, Any], *, urgent: bool, project: str | None = None) -> str:
    """A hook's, and where to go on: that line is always there."""
    goes_on = f"To wait for what comes next: --after {whole(answer['next_cursor'])}"
    room = MAX_BYTES - len(goes_on) - 1
    told = {**answer, "messages": answer.get("told")}
    lines = mail_lines(agent, told, "high" if urgent else "any", room, project=project)
    return f"{fit(lines, room)}\n{goes_on}"
