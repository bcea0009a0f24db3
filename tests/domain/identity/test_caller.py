"""Every rule of who may act as whom: what was proven, by which mode, for which kind of agent."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError, AuthenticationRequired, PermissionDenied
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.agents import Agent, AgentKind, AgentStatus, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.identity.caller import (
    AgentAuth,
    Caller,
    CallerKind,
    find_unproven,
    require_operator,
    require_to_act,
    require_to_change_project,
)

OPEN, STRICT = AgentAuth.OPEN, AgentAuth.STRICT
HERE, ELSEWHERE = ProjectId(1), ProjectId(2)
MYSELF, ANOTHER = AgentId(1), AgentId(2)


def an_agent(kind: AgentKind = AgentKind.AGENT) -> Agent:
    return Agent(
        id=MYSELF,
        project_id=HERE,
        kind=kind,
        name={AgentKind.AGENT: "BlueLake"}.get(kind, kind.capitalize()),
        program="p",
        model="m",
        task_description="",
        inception_ts=Micros(1),
        last_active_ts=Micros(1),
        profiled_ts=Micros(1),
        contact_policy=ContactPolicy.AUTO,
        attachments_policy=AttachmentsPolicy.AUTO,
        status=AgentStatus.READY,
        status_note=None,
        status_ts=None,
        retired_ts=None,
        unread_count=0,
        open_unread_count=0,
    )


def a_caller(who: str, auth: AgentAuth) -> Caller:
    if who in ("anonymous", "operator"):
        return Caller(kind=CallerKind(who), auth=auth)
    agent_id = MYSELF if who == "itself" else ANOTHER
    project_id = ELSEWHERE if who == "elsewhere" else HERE
    return Caller(kind=CallerKind.AGENT, auth=auth, agent_id=agent_id, agent_name="RedStone", project_id=project_id)


@pytest.mark.parametrize(
    ("who", "auth", "kind", "outcome"),
    [
        ("anonymous", OPEN, AgentKind.AGENT, False),
        ("anonymous", OPEN, AgentKind.HUMAN, PermissionDenied),
        ("anonymous", OPEN, AgentKind.SYSTEM, PermissionDenied),
        ("anonymous", STRICT, AgentKind.AGENT, AuthenticationRequired),
        ("anonymous", STRICT, AgentKind.HUMAN, PermissionDenied),
        ("anonymous", STRICT, AgentKind.SYSTEM, PermissionDenied),
        ("itself", OPEN, AgentKind.AGENT, True),
        ("itself", STRICT, AgentKind.AGENT, True),
        ("itself", STRICT, AgentKind.HUMAN, PermissionDenied),
        ("another", OPEN, AgentKind.AGENT, PermissionDenied),
        ("another", STRICT, AgentKind.AGENT, PermissionDenied),
        ("another", OPEN, AgentKind.HUMAN, PermissionDenied),
        ("another", OPEN, AgentKind.SYSTEM, PermissionDenied),
        ("operator", OPEN, AgentKind.AGENT, True),
        ("operator", STRICT, AgentKind.AGENT, True),
        ("operator", STRICT, AgentKind.HUMAN, True),
        ("operator", OPEN, AgentKind.SYSTEM, PermissionDenied),
        ("operator", STRICT, AgentKind.SYSTEM, PermissionDenied),
    ],
)
def test_who_may_act_as_whom(who: str, auth: AgentAuth, kind: AgentKind, outcome: bool | type[AgentMailError]) -> None:
    caller, agent = a_caller(who, auth), an_agent(kind)

    if isinstance(outcome, bool):
        assert require_to_act(caller, agent) is outcome
    else:
        with pytest.raises(outcome):
            require_to_act(caller, agent)


@pytest.mark.parametrize(
    ("who", "auth", "refusal"),
    [
        ("anonymous", OPEN, None),
        ("elsewhere", OPEN, None),
        ("anonymous", STRICT, AuthenticationRequired),
        ("elsewhere", STRICT, PermissionDenied),
        ("itself", STRICT, None),
        ("operator", STRICT, None),
    ],
)
def test_who_may_archive_a_project(who: str, auth: AgentAuth, refusal: type[AgentMailError] | None) -> None:
    if refusal is None:
        require_to_change_project(a_caller(who, auth), HERE)
    else:
        with pytest.raises(refusal):
            require_to_change_project(a_caller(who, auth), HERE)


@pytest.mark.parametrize("who", ["anonymous", "itself"])
def test_what_is_the_operators_right_is_no_one_elses(who: str) -> None:
    require_operator(a_caller("operator", OPEN))
    with pytest.raises(PermissionDenied):
        require_operator(a_caller(who, OPEN))


@pytest.mark.parametrize("role", Role)
def test_only_who_may_register_is_told_to(role: Role) -> None:
    caller = Caller(kind=CallerKind.ANONYMOUS, auth=STRICT, role=role)

    unproven = find_unproven(caller, "Reading mail")
    with pytest.raises(AuthenticationRequired) as acting:
        require_to_act(caller, an_agent())

    assert unproven is not None
    for hint in (unproven.hint, acting.value.hint):
        assert ("egister" in hint.replace("registration_token", "")) == (role is not Role.READER)
        command = "the operator for a token of an agent: am token create --agent NAME --project PATH --role reader"
        assert (command in hint) == (role is Role.READER)
