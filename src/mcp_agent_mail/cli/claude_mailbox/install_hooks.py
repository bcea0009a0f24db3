"""`install-hook` and `uninstall-hook`: our entries in Claude Code's settings, and the way back to the very bytes.

By the same edits and the same kind of journal as `am setup`, with a journal of its own, so that neither takes back what
the other has written.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.cli.claude_mailbox.arguments import GivenFlags, parse_flags
from mcp_agent_mail.cli.claude_mailbox.refusals import REFUSED, CommandRefused
from mcp_agent_mail.clients.setup.journal import Journal
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.plan import Plan, carry_out, make_plan
from mcp_agent_mail.clients.setup.undo import make_undo_plan, take_back
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish, HookWish, Part, Scope
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.home_folder import home_folder

JOURNAL = ".config/mcp-agent-mail/claude-mailbox"
CLIENT = "claude"
_USERS = "~/.claude/settings.json"
_PROJECTS = ".claude/settings.json"
EVENTS: Mapping[str, str] = {
    "SessionStart": "session-announce",
    "UserPromptSubmit": "check --hook",
    "SubagentStop": "check --hook",
    "TaskCompleted": "check --hook",
    "SessionEnd": "session-end",
}
_TIMEOUT_S = 10


def install_hook(arguments: Sequence[str]) -> int:
    """Into the user's settings, or with `--project` those of the current folder's. Repeated, nothing changes; with
    another name the entries say that one.
    """
    given = parse_flags("install-hook", arguments, valued=("name",), plain=("project",))
    with _told():
        wish, project, journal = _wish(given), _project(given), _journal()
        plan = make_plan([wish], project=project)
        if not plan.changes and not plan.left_alone:
            sys.stdout.write(f"Hooks are installed in {wish.path}.\n")
            return 0
        with journal.held():
            take_back(make_undo_plan(journal, clients=[CLIENT], project=project), journal)
            plan = make_plan([wish], project=project)
            carry_out(plan, journal)
        return _tell(plan, f"Hooks are installed in {wish.path}.\n")


def uninstall_hook(arguments: Sequence[str]) -> int:
    """Take our entries back: unchanged since, the file has the bytes that it had; else ours alone go."""
    given = parse_flags("uninstall-hook", arguments, valued=("name",), plain=("project",))
    with _told():
        project, journal = _project(given), _journal()
        journal.read()
        plan = make_undo_plan(journal, clients=[CLIENT], project=project)
        if not (plan.changes or plan.idle or plan.left_alone or journal.has_traces()):
            sys.stdout.write("No hooks of claude-mailbox are installed there.\n")
            return 0
        with journal.held():
            plan = make_undo_plan(journal, clients=[CLIENT], project=project)
            take_back(plan, journal)
        return _tell(plan, "Hooks are uninstalled.\n")


def command_path() -> str:
    """What hooks and services run: this command, by its absolute path."""
    import shutil

    named = sys.argv[0]
    if os.path.basename(named).startswith("claude-mailbox") and os.path.isfile(named):
        return os.path.abspath(named)
    beside = os.path.join(os.path.dirname(sys.executable), "claude-mailbox")
    return beside if os.path.isfile(beside) else shutil.which("claude-mailbox") or "claude-mailbox"


def _wish(given: GivenFlags) -> FileWish:
    project = _project(given)
    around = Surroundings(home=_home(), environ=os.environ)
    path = around.user_path(CLIENT, _USERS) if project is None else project / _PROJECTS
    more = "".join(f" --{flag} {shlex.quote(value)}" for flag, value in sorted(given.values.items()))
    program = shlex.quote(command_path())
    return FileWish(
        client=CLIENT,
        part=Part.HOOKS,
        scope=Scope.USER if project is None else Scope.PROJECT,
        path=path,
        file_format=FileFormat.JSON,
        hooks=[
            HookWish(
                path=["hooks", event],
                mark=f"{words}{more}",
                item={"hooks": [{"type": "command", "command": f"{program} {words}{more}", "timeout": _TIMEOUT_S}]},
            )
            for event, words in EVENTS.items()
        ],
    )


def _project(given: GivenFlags) -> Path | None:
    return Path.cwd() if "project" in given.plain else None


def _home() -> Path:
    return Path(home_folder(os.environ))


def _journal() -> Journal:
    return Journal(_home(), folder=JOURNAL)


@contextmanager
def _told() -> Iterator[None]:
    """A refusal of ours is told in one line."""
    try:
        yield
    except AgentMailError as refused:
        raise CommandRefused(f"claude-mailbox: {refused.text}") from refused


def _tell(plan: Plan, done: str) -> int:
    for one in plan.left_alone:
        place = f"{one.path}:{one.line}" if one.line is not None else str(one.path)
        sys.stderr.write(f"claude-mailbox: {place} is left alone: {one.reason}. {one.hint}".rstrip() + "\n")
    if plan.left_alone:
        return REFUSED
    sys.stdout.write(done)
    return 0


COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "install-hook": install_hook,
    "uninstall-hook": uninstall_hook,
}
