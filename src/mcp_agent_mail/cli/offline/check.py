"""What `am doctor check` asks whom: the owner of the store over HTTP, everything else of the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

from mcp_agent_mail.bootstrap.doors import door_places
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.exit_codes import NoServer, code_of
from mcp_agent_mail.cli.gateway.http import HttpGateway
from mcp_agent_mail.cli.gateway.known_owner import owner_with_address
from mcp_agent_mail.cli.gateway.port import server_at
from mcp_agent_mail.cli.gateway.rate_wait import WaitingGateway
from mcp_agent_mail.cli.offline.store_lock import told_without_room
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.errors import AgentMailError, RateLimited, listed
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.lost_database import DatabaseLost
from mcp_agent_mail.features.doctor.check import CheckResult, CheckTarget, ServerAnswer, check_everything
from mcp_agent_mail.features.doctor.verify import Finding
from mcp_agent_mail.features.doors.homes import DOORS_WITHOUT_PROJECT, NoDoorsProject, find_facades_project
from mcp_agent_mail.features.doors.tools import show_place
from mcp_agent_mail.store.engine.sqlite.schema import open_own
from mcp_agent_mail.store.transaction import View

_ANSWER_TIMEOUT_S = 6.0  # longer than the server itself waits for its writer


def check_around(context: CliContext, progress: Progress = lambda _done, _total: None) -> Iterator[CheckResult]:
    """The results of every check on the store of these settings, one by one; `progress` counts archives. Raises
    NoServer where there is no store; one whose database is lost is looked at as far as it goes.
    """
    with suppress(DatabaseLost):
        context.require_store()
    held_up: CheckResult | None = None
    owner: ServerAnswer | None = None
    try:
        owner = _ask_owner(context)
    except _HeldUp as limited:
        held_up = limited.result
    target = CheckTarget(
        storage_root=context.storage_root,
        database_path=context.settings.database_path,
        owner=owner,
        clock=system_clock,
    )
    with told_without_room(context.settings):
        is_readable = False
        for checked in check_everything(target, progress):
            is_readable = is_readable or (checked.check == "database" and not checked.findings)
            yield held_up if held_up is not None and checked.check == held_up.check else checked
    doors = _doors(context)
    findings = tuple(_findings(context, doors)) if is_readable else ()
    yield CheckResult(check="doors", evidence=_doors_in_words(doors), findings=findings)


def _doors(context: CliContext) -> list[JsonObject]:
    """As the server has them, else as a start would."""
    if (owner := owner_with_address(context)) is not None and owner.url is not None:
        gateway = HttpGateway(server_at(owner.url, context), answer_timeout_s=_ANSWER_TIMEOUT_S)
        with suppress(AgentMailError), closing(gateway):
            doors: list[JsonObject] = WaitingGateway(gateway).call("list_doors", {})
            return doors
    return [show_place(place) for place in door_places(context.settings)]


def _findings(context: CliContext, doors: Sequence[JsonObject]) -> Iterator[Finding]:
    """Doors are of no use whose project is none."""
    if not any(door["open"] and door["door"] in DOORS_WITHOUT_PROJECT for door in doors):
        return
    try:
        with closing(open_own(context.settings.database_path)) as connection:
            find_facades_project(View(connection, system_clock), context.settings.facades_project)
    except NoDoorsProject as none:
        yield Finding(
            check="doors", problem="no project", project=None, path=None, evidence=none.message, next_step=none.hint
        )


def _doors_in_words(doors: Sequence[JsonObject]) -> str:
    told = [
        f"{door['door']} is open at {listed(door['at'], 'and')} ({door['setting']})" for door in doors if door["open"]
    ]
    return "; ".join(told) or "none is open: no user of another system comes in"


class _HeldUp(Exception):
    """The owner's rates hold the question up for longer than is waited."""

    def __init__(self, pid: int | None, url: str, refused: AgentMailError) -> None:
        super().__init__(refused.text)
        evidence = f"process {pid} holds the lock of the store and serves {url}; its rates hold this question up: "
        finding = Finding(
            check="owner",
            problem="not asked",
            project=None,
            path=None,
            evidence=f"{evidence}{refused.text}",
            next_step="no fault of the server; look again when its rates allow: am doctor check",
        )
        self.result = CheckResult(check="owner", evidence=finding.evidence, findings=(finding,))


def _ask_owner(context: CliContext) -> ServerAnswer | None:
    """Raises _HeldUp."""
    owner = owner_with_address(context)
    if owner is None:
        return None
    if owner.url is None:
        return ServerAnswer(pid=owner.pid, url=None)
    gateway = HttpGateway(server_at(owner.url, context), answer_timeout_s=_ANSWER_TIMEOUT_S)
    try:
        health = WaitingGateway(gateway).call("health_check", {})
    except NoServer as silent:
        return ServerAnswer(pid=owner.pid, url=owner.url, problem=silent.message)
    except AgentMailError as refused:
        if code_of(refused) == RateLimited.code:
            raise _HeldUp(owner.pid, owner.url, refused) from refused
        return ServerAnswer(pid=owner.pid, url=owner.url, refusal=refused.text)
    finally:
        gateway.close()
    return ServerAnswer(pid=owner.pid, url=owner.url, health=health)
