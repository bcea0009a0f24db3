"""Who may read what: the one decision, as a table."""

from __future__ import annotations

from itertools import product

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError, AuthenticationRequired
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.identity.readership import (
    ForeignProject,
    Readership,
    SomebodyElses,
    refusal,
    require_reader,
    require_to_read,
)
from mcp_agent_mail.domain.projects import Project

HERE = Project(id=ProjectId(1), slug="app", human_key="/code/app", created_ts=Micros(0), archived_ts=None)
MYSELF = AgentId(1)


def a_caller(who: str, auth: AgentAuth) -> Caller:
    if who in ("anonymous", "operator"):
        return Caller(kind=CallerKind(who), auth=auth)
    home = HERE.id if who == "member" else ProjectId(2)
    linked = frozenset({HERE.id}) if who == "linked" else frozenset()
    return Caller(
        kind=CallerKind.AGENT,
        auth=auth,
        agent_id=MYSELF,
        agent_name="RedStone",
        project_id=home,
        linked_projects=linked,
    )


@pytest.mark.parametrize(
    ("who", "auth", "work", "own"),
    [
        ("anonymous", AgentAuth.OPEN, None, SomebodyElses),
        ("anonymous", AgentAuth.STRICT, AuthenticationRequired, AuthenticationRequired),
        *(("stranger", auth, ForeignProject, ForeignProject) for auth in AgentAuth),
        *((who, auth, None, SomebodyElses) for who, auth in product(("member", "linked"), AgentAuth)),
        *(("operator", auth, None, None) for auth in AgentAuth),
    ],
)
def test_who_may_read_what(
    who: str, auth: AgentAuth, work: type[AgentMailError] | None, own: type[AgentMailError] | None
) -> None:
    caller = a_caller(who, auth)

    assert refusal(caller, HERE, "Reading mail", Readership.DIRECTORY) is None
    for record, expected in ((Readership.WORK, work), (Readership.OWN, own)):
        if expected is None:
            require_to_read(caller, HERE, "Reading mail", record)
        else:
            with pytest.raises(expected):
                require_to_read(caller, HERE, "Reading mail", record)


@pytest.mark.parametrize("who", ["member", "linked", "stranger"])
def test_its_own_is_read_by_whose_it_is_wherever_it_belongs(who: str) -> None:
    caller = a_caller(who, AgentAuth.STRICT)

    assert refusal(caller, HERE, "Reading mail", Readership.OWN, [AgentId(7), MYSELF]) is None
    assert refusal(caller, HERE, "Reading mail", Readership.OWN, [AgentId(7)]) is not None


def test_a_refusal_names_the_act_and_is_the_same_before_a_project_is_known() -> None:
    nobody = a_caller("anonymous", AgentAuth.STRICT)
    with pytest.raises(AuthenticationRequired) as before:
        require_reader(nobody, "Listing windows")
    with pytest.raises(AuthenticationRequired) as within:
        require_to_read(nobody, HERE, "Listing windows")

    assert str(before.value) == "Listing windows needs an agent's token (AGENT_AUTH=strict)."
    assert (str(within.value), within.value.hint) == (str(before.value), before.value.hint)


@pytest.mark.parametrize("who", ["member", "linked", "stranger", "operator"])
def test_who_is_proven_may_look_for_what_to_read(who: str) -> None:
    require_reader(a_caller(who, AgentAuth.STRICT), "Reading mail")
