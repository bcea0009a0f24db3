from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, JoinCodeId, ProjectId
from mcp_agent_mail.domain.identity.admission import JoinCode, JoinCodeRefused, ProjectAdmission, lets_in, require_open
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind

HERE, ELSEWHERE = ProjectId(1), ProjectId(2)
NOW = Micros(1_000)
OPEN, MEMBER, OPERATOR = ProjectAdmission


def caller(who: str) -> Caller:
    if who in ("anonymous", "operator"):
        return Caller(kind=CallerKind(who), auth=AgentAuth.OPEN)
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.OPEN,
        agent_id=AgentId(1),
        agent_name="BlueLake",
        project_id=HERE if who == "member" else ELSEWHERE,
    )


def code(*, expires_ts: int = NOW + 1, used_by: str | None = None) -> JoinCode:
    return JoinCode(
        id=JoinCodeId(1),
        project_id=HERE,
        created_ts=Micros(1),
        expires_ts=Micros(expires_ts),
        used_ts=None if used_by is None else Micros(5),
        used_by=used_by,
    )


@pytest.mark.parametrize(
    ("who", "lets"),
    [
        ("anonymous", {OPEN}),
        ("stranger", {OPEN}),
        ("member", {OPEN, MEMBER}),
        ("operator", {OPEN, MEMBER, OPERATOR}),
    ],
)
def test_each_rule_lets_in_whom_it_names(who: str, lets: set[ProjectAdmission]) -> None:
    assert {admission for admission in ProjectAdmission if lets_in(admission, caller(who), HERE)} == lets


def test_a_code_is_open_until_it_is_used_or_the_instant_it_expires() -> None:
    assert code().is_open(NOW)
    assert not code(expires_ts=NOW).is_open(NOW)
    assert not code(used_by="RedStone").is_open(NOW)


def test_an_open_code_lets_in() -> None:
    assert require_open(code(), NOW) == code()


def test_a_code_that_is_not_known_is_refused_with_whom_to_ask() -> None:
    with pytest.raises(JoinCodeRefused, match="not valid") as refused:
        require_open(None, NOW)

    assert "am projects invite" in refused.value.hint


def test_a_used_code_names_who_came_in_with_it_even_when_it_has_expired() -> None:
    with pytest.raises(JoinCodeRefused, match="RedStone came in with it") as refused:
        require_open(code(used_by="RedStone", expires_ts=1), NOW)

    assert "am token reissue RedStone --project PROJECT" in refused.value.hint
    assert refused.value.data == {"used_by": "RedStone"}


def test_an_expired_code_is_told_as_that() -> None:
    with pytest.raises(JoinCodeRefused, match="has expired") as refused:
        require_open(code(expires_ts=NOW), NOW)

    assert "am projects invite" in refused.value.hint
