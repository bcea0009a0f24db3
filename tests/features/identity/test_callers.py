"""Every credential, in every mode, over every way in: who that makes the caller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import (
    AgentAuth,
    CallerKind,
    TokenMissing,
    WrongToken,
    require_proof,
    require_to_act,
)
from mcp_agent_mail.domain.identity.token_agents import AmbiguousClaim
from mcp_agent_mail.features.identity.callers import (
    AuthRules,
    JwtAgents,
    Proofs,
    ProofsDiffer,
    UnknownToken,
    resolve_caller,
)
from tests.features.samples import an_agent

BLUE, RED, GONE, FOX, WRONG = "amt_blue", "amt_red", "amt_gone", "amt_fox", "amt_wrong"
OPERATORS = "amo_operator"


AGENTS = {
    token_hash(BLUE): an_agent(1, "BlueLake"),
    token_hash(RED): an_agent(2, "RedStone"),
    token_hash(GONE): an_agent(3, "GoneElm", retired=True),
    token_hash(FOX): an_agent(4, "QuietFox"),
}


TWICE = AmbiguousClaim(name="QuietFox", addresses=("QuietFox@app", "QuietFox@lib"))


async def find_agent(token: bytes) -> Agent | None:
    return AGENTS.get(token)


async def find_no_join_code(_: bytes) -> None:
    return None


async def find_agent_by_id(agent_id: AgentId) -> Agent | None:
    return next((agent for agent in AGENTS.values() if agent.id == agent_id), None)


async def find_claimed(texts: Sequence[str], _project_key: str | None) -> JwtAgents:
    named = [text.partition("@")[0] for text in texts if text != TWICE.name]
    agents = [agent for name in named for agent in AGENTS.values() if agent.name == name]
    return JwtAgents(agents=agents, ambiguous=[TWICE] if TWICE.name in texts else [])


PROOFS = Proofs(
    find_agent=find_agent,
    find_agent_by_id=find_agent_by_id,
    find_claimed=find_claimed,
    find_join_code=find_no_join_code,
    clock=lambda: Micros(1),
)
ANONYMOUS, OPERATOR = "anonymous", "operator"
TABLE: list[tuple[dict[str, Any], dict[str, str]]] = [
    # credentials                                        who that is, by way in
    ({}, {"mcp": ANONYMOUS, "rpc": ANONYMOUS, "local": ANONYMOUS}),
    ({"token_argument": "  "}, {"mcp": ANONYMOUS, "rpc": ANONYMOUS}),
    ({"bearer_token": BLUE}, {"mcp": "BlueLake", "rpc": "BlueLake", "local": "BlueLake"}),
    ({"agent_token": BLUE}, {"mcp": "BlueLake", "rpc": "BlueLake"}),
    ({"token_argument": BLUE}, {"mcp": "BlueLake", "rpc": "BlueLake"}),
    ({"token_argument": f" {BLUE}\n"}, {"mcp": "BlueLake"}),
    ({"token_argument": BLUE, "agent_token": BLUE, "bearer_token": BLUE}, {"mcp": "BlueLake"}),
    ({"bearer_token": GONE}, {"mcp": "GoneElm"}),
    ({"bearer_token": OPERATORS}, {"mcp": ANONYMOUS, "rpc": OPERATOR, "local": OPERATOR}),
    ({"role": Role.OPERATOR}, {"mcp": OPERATOR, "rpc": OPERATOR}),
    ({"role": Role.OPERATOR, "agent_token": BLUE}, {"mcp": "BlueLake", "rpc": "BlueLake"}),
    ({"role": Role.OPERATOR, "agent_token": WRONG}, {"mcp": "refused"}),
    ({"role": Role.READER}, {"mcp": ANONYMOUS}),
    # What let the request in may prove an agent too.
    ({"issued_to": 1}, {"mcp": "BlueLake", "rpc": "BlueLake"}),
    ({"issued_to": 1, "agent_token": BLUE}, {"mcp": "BlueLake"}),
    ({"issued_to": 1, "agent_token": RED}, {"mcp": "refused", "rpc": "refused"}),
    ({"issued_to": 1, "token_argument": RED}, {"mcp": "refused"}),
    ({"issued_to": 99}, {"mcp": ANONYMOUS}),
    ({"claimed_agents": ("RedStone@app",)}, {"mcp": "RedStone", "rpc": "RedStone"}),
    ({"claimed_agents": ("Nobody",)}, {"mcp": ANONYMOUS}),
    ({"claimed_agents": ("BlueLake", "RedStone")}, {"mcp": "BlueLake"}),
    ({"claimed_agents": ("BlueLake", "RedStone"), "named_agent": " redstone"}, {"mcp": "RedStone"}),
    ({"claimed_agents": ("BlueLake", "RedStone"), "said_agent": "RedStone"}, {"mcp": "RedStone"}),
    ({"claimed_agents": ("BlueLake", "RedStone"), "named_agent": "GoneElm"}, {"mcp": "BlueLake"}),
    ({"claimed_agents": ("BlueLake", "RedStone"), "agent_token": RED}, {"mcp": "RedStone"}),
    ({"claimed_agents": ("BlueLake", "RedStone"), "agent_token": GONE}, {"mcp": "refused"}),
    # What is for agents that are not there makes nobody of its bearer: no other agent, and not the operator.
    ({"issued_to": 99, "agent_token": BLUE}, {"mcp": "refused", "rpc": "refused"}),
    ({"claimed_agents": ("Nobody",), "agent_token": BLUE}, {"mcp": "refused", "rpc": "refused"}),
    ({"claimed_agents": ("QuietFox",), "token_argument": BLUE}, {"mcp": "refused"}),
    ({"claimed_agents": ("QuietFox",), "token_argument": FOX}, {"mcp": "QuietFox", "rpc": "QuietFox"}),
    ({"issued_to": 99, "role": Role.OPERATOR}, {"mcp": ANONYMOUS, "rpc": ANONYMOUS}),
    ({"claimed_agents": ("Nobody",), "role": Role.OPERATOR}, {"mcp": ANONYMOUS, "rpc": ANONYMOUS}),
    ({"claimed_agents": ("QuietFox",), "role": Role.OPERATOR}, {"mcp": ANONYMOUS, "rpc": ANONYMOUS}),
    ({"claimed_agents": ("BlueLake",), "role": Role.OPERATOR}, {"mcp": "BlueLake", "rpc": "BlueLake"}),
    ({"bearer_token": OPERATORS, "agent_token": BLUE}, {"mcp": "BlueLake", "rpc": "BlueLake"}),
    # Given and wrong is refused, never ignored.
    ({"bearer_token": WRONG}, {"mcp": "refused", "rpc": "refused", "local": "refused"}),
    ({"agent_token": WRONG, "bearer_token": BLUE}, {"mcp": "refused"}),
    ({"agent_token": BLUE, "bearer_token": WRONG}, {"mcp": "refused", "rpc": "refused"}),
    ({"token_argument": BLUE, "agent_token": WRONG}, {"mcp": "refused"}),
    # Two agents at once are nobody.
    ({"token_argument": BLUE, "agent_token": RED}, {"mcp": "refused", "rpc": "refused"}),
    ({"agent_token": RED, "bearer_token": BLUE}, {"mcp": "refused", "rpc": "refused"}),
    ({"token_argument": GONE, "bearer_token": BLUE}, {"mcp": "refused"}),
    ({"token_argument": WRONG, "agent_token": BLUE}, {"mcp": "refused"}),
    ({"token_argument": WRONG, "bearer_token": OPERATORS}, {"rpc": "refused"}),
    ({"agent_token": OPERATORS}, {"mcp": "refused", "rpc": "refused"}),
    ({"bearer_token": "\ud800é"}, {"mcp": "refused"}),
]
CASES = [
    pytest.param(given, via, auth, who, id=f"{'+'.join(given) or 'nothing'}-{via}-{auth}-{who}-{number}")
    for number, (given, by_way) in enumerate(TABLE)
    for via, who in by_way.items()
    for auth in AgentAuth
]


@pytest.mark.parametrize(("given", "via", "auth", "who"), CASES)
async def test_credentials_make_a_caller(
    given: dict[str, Any], via: Literal["mcp", "rpc", "local"], auth: AgentAuth, who: str
) -> None:
    rules = AuthRules(auth=auth, operator_token=OPERATORS)
    credentials = Credentials(via=via, **given)

    if who == "refused":
        with pytest.raises((UnknownToken, ProofsDiffer)):
            await resolve_caller(credentials, rules, PROOFS)
        return
    caller, agent = await resolve_caller(credentials, rules, PROOFS)

    # Who comes as agents that are not there is nobody else at its word.
    is_unfound = who == ANONYMOUS and ("issued_to" in given or "claimed_agents" in given)
    assert caller.auth is (AgentAuth.STRICT if is_unfound else auth)
    if who in (ANONYMOUS, OPERATOR):
        assert (caller.kind, agent, caller.agent_id) == (CallerKind(who), None, None)
    else:
        assert agent is not None
        assert (caller.kind, caller.agent_name, caller.agent_id, caller.project_id) == (
            CallerKind.AGENT,
            who,
            agent.id,
            agent.project_id,
        )


async def test_a_token_that_is_not_set_is_matched_by_nothing() -> None:
    rules = AuthRules(auth=AgentAuth.OPEN, operator_token="")

    caller, _ = await resolve_caller(Credentials(via="rpc", bearer_token=""), rules, PROOFS)

    assert caller.kind is CallerKind.ANONYMOUS


def test_the_rules_do_not_show_their_tokens() -> None:
    assert "token" not in repr(AuthRules(auth=AgentAuth.OPEN, operator_token=OPERATORS))


@pytest.mark.parametrize(
    ("via", "in_arguments", "bearer_must_open", "ways"),
    [
        (
            "mcp",
            True,
            False,
            "as argument registration_token, as header X-Agent-Token or as Authorization: Bearer",
        ),
        ("mcp", True, True, "as argument registration_token or as header X-Agent-Token"),
        (
            "mcp",
            False,
            True,
            "as header X-Agent-Token; a tool takes it as argument registration_token",
        ),
        ("rpc", False, False, "as header X-Agent-Token or as Authorization: Bearer"),
    ],
)
async def test_every_demand_for_a_token_names_the_ways_that_are_open_there(
    via: Literal["mcp", "rpc"], in_arguments: bool, bearer_must_open: bool, ways: str
) -> None:
    rules = AuthRules(auth=AgentAuth.STRICT, bearer_must_open=bearer_must_open)
    caller, _ = await resolve_caller(Credentials(via=via, in_arguments=in_arguments), rules, PROOFS)

    with pytest.raises(TokenMissing) as acting:
        require_to_act(caller, an_agent(1, "BlueLake"))
    with pytest.raises(TokenMissing) as reading:
        require_proof(caller, "Reading mail")

    assert acting.value.hint.startswith(f"Send BlueLake's registration_token {ways}. ")
    assert reading.value.hint.startswith(f"Send your registration_token {ways}. ")


@pytest.mark.parametrize("is_remote", [False, True])
@pytest.mark.parametrize("token", [None, BLUE])
async def test_a_caller_from_another_machine_is_known_as_one(token: str | None, *, is_remote: bool) -> None:
    credentials = Credentials(via="rpc", agent_token=token, is_remote=is_remote)

    caller, _ = await resolve_caller(credentials, AuthRules(auth=AgentAuth.OPEN), PROOFS)

    assert caller.is_remote is is_remote


@pytest.mark.parametrize("role", Role)
async def test_a_caller_has_the_role_that_it_was_let_in_with(role: Role) -> None:
    given = [Credentials(via="rpc", role=role), Credentials(via="rpc", role=role, agent_token=BLUE)]

    callers = [(await resolve_caller(one, AuthRules(auth=AgentAuth.STRICT), PROOFS))[0] for one in given]

    assert [caller.role for caller in callers] == [role, role]


@pytest.mark.parametrize("auth", AgentAuth)
@pytest.mark.parametrize(
    ("given", "acting_as", "refusal", "why", "next_step"),
    [
        (
            {"claimed_agents": ("QuietFox",)},
            "QuietFox",
            TokenMissing,
            "The token that let you in names QuietFox without a project, and several projects have that name.",
            "Have its issuer write Name@project in the token: QuietFox@app or QuietFox@lib.",
        ),
        (
            {"claimed_agents": ("RedStone", "QuietFox")},
            "quietfox",
            WrongToken,
            "The token that let you in names QuietFox without a project, and several projects have that name.",
            "Have its issuer write Name@project in the token: QuietFox@app or QuietFox@lib.",
        ),
        (
            {"claimed_agents": ("Nobody@app", "QuietFox")},
            "BlueLake",
            TokenMissing,
            "The token that let you in is for Nobody@app and QuietFox alone.",
            "Act as Nobody@app or QuietFox, or come with a token for BlueLake.",
        ),
        (
            {"claimed_agents": ("RedStone",)},
            "BlueLake",
            WrongToken,
            "The token that let you in is for RedStone alone.",
            "Act as RedStone, or come with a token for BlueLake.",
        ),
        (
            {"issued_to": 2},
            "BlueLake",
            WrongToken,
            "The token that let you in is for RedStone alone.",
            "Act as RedStone, or come with a token for BlueLake.",
        ),
        (
            {"issued_to": 99},
            "BlueLake",
            TokenMissing,
            "The token that let you in is an agent's that is not there any more.",
            "Come with a token for BlueLake.",
        ),
    ],
)
async def test_who_came_in_as_certain_agents_is_told_so_and_not_of_a_setting(
    given: dict[str, Any], acting_as: str, refusal: type[Exception], why: str, next_step: str, auth: AgentAuth
) -> None:
    caller, _ = await resolve_caller(Credentials(via="mcp", **given), AuthRules(auth=auth), PROOFS)

    with pytest.raises((TokenMissing, WrongToken)) as acting:
        require_to_act(caller, an_agent(7, acting_as))

    assert type(acting.value) is refusal
    assert (str(acting.value), acting.value.hint) == (
        f"Acting as {acting_as} needs a token that proves it. {why}",
        next_step,
    )


@pytest.mark.parametrize("auth", AgentAuth)
@pytest.mark.parametrize(
    ("given", "why", "next_step"),
    [
        (
            {"claimed_agents": ("Nobody@app", "QuietFox")},
            "The token that let you in names QuietFox without a project, and several projects have that name.",
            "Have its issuer write Name@project in the token: QuietFox@app or QuietFox@lib.",
        ),
        (
            {"claimed_agents": ("A", "B", "C" * 5_000, "D", "E")},
            f"The token that let you in is for A, B, {'C' * 100} and 2 more alone, of whom none is there.",
            f"Register as A, B, {'C' * 100} or 2 more, or come with a token for an agent that is there, or for none.",
        ),
        (
            {"issued_to": 99},
            "The token that let you in is an agent's that is not there any more.",
            "Come with a token for an agent that is there, or for none.",
        ),
    ],
)
async def test_who_came_in_as_nobody_that_is_there_is_told_why_it_may_not_read(
    given: dict[str, Any], why: str, next_step: str, auth: AgentAuth
) -> None:
    caller, _ = await resolve_caller(Credentials(via="mcp", **given), AuthRules(auth=auth), PROOFS)

    with pytest.raises(TokenMissing) as reading:
        require_proof(caller, "Reading mail")

    assert (str(reading.value), reading.value.hint) == (f"Reading mail needs an agent's token. {why}", next_step)


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ({"bearer_token": WRONG}, ["Authorization"]),
        ({"agent_token": f" {WRONG} ", "bearer_token": BLUE}, ["X-Agent-Token"]),
        ({"token_argument": WRONG, "agent_token": BLUE}, ["registration_token"]),
        ({"bearer_token": WRONG, "agent_token": "amk_issued"}, ["Authorization", "X-Agent-Token"]),
    ],
    ids=str,
)
async def test_a_token_that_is_nobodys_is_told_by_where_it_was_given(given: dict[str, Any], places: list[str]) -> None:
    with pytest.raises(UnknownToken) as refused:
        await resolve_caller(Credentials(via="rpc", **given), AuthRules(auth=AgentAuth.OPEN), PROOFS)

    assert refused.value.data == {"given_in": places}
    assert ("amk_" in refused.value.hint) is ("amk_issued" in given.values())
