"""From what a request brought to the one answer to "who is calling". Nothing else judges tokens."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import field, replace

from mcp_agent_mail.core.arguments import TOKEN_ARGUMENT
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import ISSUED_TOKEN_PREFIX, JOIN_CODE_PREFIX, AgentId, token_hash
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.admission import JoinCode, require_open
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, TokenWays
from mcp_agent_mail.domain.identity.reissue_command import reissue_command
from mcp_agent_mail.domain.identity.token_agents import AmbiguousClaim, TokenAgents


class UnknownToken(PermissionDenied):
    """A token was given and is no one's: never ignored, whatever AGENT_AUTH says."""


class ProofsDiffer(PermissionDenied):
    """Two tokens were given that prove two agents: nobody can tell which of them calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtAgents:
    """The agents that a JWT proves by naming them, and the names in it that could mean several: these prove none."""

    agents: Sequence[Agent] = ()
    ambiguous: Sequence[AmbiguousClaim] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """Where tokens and join codes are looked up, by their hashes, and agents as JWTs name them."""

    find_agent: Callable[[bytes], Awaitable[Agent | None]]
    find_agent_by_id: Callable[[AgentId], Awaitable[Agent | None]]
    find_claimed: Callable[[Sequence[str], str | None], Awaitable[JwtAgents]]
    find_join_code: Callable[[bytes], Awaitable[JoinCode | None]]
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRules:
    """How this server tells callers apart. `operator_token` is made at each start, for `am` on this machine. Where
    `bearer_must_open`, as with a token of its own or with JWTs, a bearer token has to open the server: an agent's own
    goes beside it.
    """

    auth: AgentAuth
    operator_token: str | None = field(repr=False, default=None)
    bearer_must_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What a call brought, less what is the server's: tokens that claim to be an agent's, join codes, the operator."""

    tokens: tuple[str, ...]
    codes: tuple[str, ...]
    is_operator: bool


def _sort(credentials: Credentials, rules: AuthRules) -> _Given:
    """The operator's own token proves the operator, in process. What let a request in over HTTP is not the bearer any
    more: the operator's gave a role, and the server's own proves nobody.

    A join code is one where an agent's own token would stand, not as bearer.
    """
    bearer = _given(credentials.bearer_token)
    is_operators = _same(bearer, rules.operator_token)
    if is_operators:
        bearer = None
    own = [token for token in map(_given, (credentials.token_argument, credentials.agent_token)) if token is not None]
    codes = [token for token in own if token.startswith(JOIN_CODE_PREFIX)]
    tokens = [token for token in [*own, *([] if bearer is None else [bearer])] if token not in codes]
    return _Given(
        tokens=tuple(dict.fromkeys(tokens)),
        codes=tuple(dict.fromkeys(codes)),
        is_operator=credentials.role is Role.OPERATOR or (is_operators and credentials.via != "mcp"),
    )


async def resolve_caller(credentials: Credentials, rules: AuthRules, proofs: Proofs) -> tuple[Caller, Agent | None]:
    """The caller, and the agent that a token proved. Every token given must be right, and all the same agent's.

    Raises UnknownToken, ProofsDiffer, JoinCodeRefused. An agent's token beside the operator's wins: who sends both
    asks to act as that agent alone. So does a join code: who sends one comes as a newcomer.
    """
    given = _sort(credentials, rules)
    agent = await _one_agent(given.tokens, credentials, proofs.find_agent)
    brought, token_agents = await _brought(credentials, proofs)
    agent = _proven_agent(agent, brought, token_agents, credentials)
    code = await _join_code(given.codes, agent, proofs)
    is_operator = given.is_operator and code is None and token_agents is None
    caller = Caller(
        kind=CallerKind.OPERATOR if is_operator else CallerKind.ANONYMOUS,
        # Whoever came in as agents that are not there, or not there alone, is nobody else: neither the operator nor
        # any agent at its word.
        auth=rules.auth if token_agents is None else AgentAuth.STRICT,
        join_code=code,
        token_ways=TokenWays(
            in_arguments=credentials.in_arguments,
            beside_tools=credentials.via == "mcp" and not credentials.in_arguments,
            as_bearer=not rules.bearer_must_open,
        ),
        is_remote=credentials.is_remote,
        is_over_mcp=credentials.via == "mcp",
        token_agents=token_agents,
        role=credentials.role,
    )
    if agent is None:
        return caller, None
    proven = replace(
        caller,
        auth=rules.auth,
        kind=CallerKind.AGENT,
        agent_id=agent.id,
        agent_name=agent.name,
        project_id=agent.project_id,
        token_hash=token_hash(given.tokens[0]) if given.tokens else None,
    )
    return proven, agent


async def _brought(credentials: Credentials, proofs: Proofs) -> tuple[Sequence[Agent], TokenAgents | None]:
    """The agents that what let the request in proves, and those that it is for; None where it is for anybody."""
    if credentials.issued_to is not None:
        issued_to = await proofs.find_agent_by_id(credentials.issued_to)
        agents = () if issued_to is None else (issued_to,)
        return agents, TokenAgents(names=tuple(agent.name for agent in agents), issued_to=credentials.issued_to)
    if credentials.claimed_agents:
        claimed = await proofs.find_claimed(credentials.claimed_agents, credentials.named_project)
        return claimed.agents, TokenAgents(names=credentials.claimed_agents, ambiguous=tuple(claimed.ambiguous))
    return (), None


def _proven_agent(
    agent: Agent | None, brought: Sequence[Agent], token_agents: TokenAgents | None, credentials: Credentials
) -> Agent | None:
    """Whom the agents' own tokens prove, and what let the request in: all of them the same agent. Where that is for
    certain agents, of whom none is there, no other agent's token counts beside it.
    """
    if agent is None:
        return _meant(brought, credentials) if brought else None
    if token_agents is None or any(one.id == agent.id for one in brought) or token_agents.may_mean(agent.name):
        return agent
    if brought:
        raise _differing([agent, *brought])
    raise ProofsDiffer(
        f"A token of {agent.name} was given. {token_agents.why(agent.name)}", hint=token_agents.remedy(agent.name)
    )


def _meant(agents: Sequence[Agent], credentials: Credentials) -> Agent:
    """Of several that one proof is good for: as whom the call acts by its word, else the connection, else the first."""
    for name in (credentials.named_agent, credentials.said_agent):
        if name is not None:
            wanted = name.strip().casefold()
            return next((agent for agent in agents if agent.name.casefold() == wanted), agents[0])
    return agents[0]


async def _one_agent(
    tokens: Sequence[str], credentials: Credentials, find_agent: Callable[[bytes], Awaitable[Agent | None]]
) -> Agent | None:
    found = {token: await find_agent(token_hash(token)) for token in tokens}
    agents = [agent for agent in found.values() if agent is not None]
    if unknown := {token for token, agent in found.items() if agent is None}:
        raise _unknown(unknown, credentials)
    if any(agent.id != agents[0].id for agent in agents):
        raise _differing(agents)
    return agents[0] if agents else None


def _unknown(tokens: Collection[str], credentials: Credentials) -> UnknownToken:
    """`data.given_in`: where those that are no agent's were given."""
    places = {
        "Authorization": credentials.bearer_token,
        "X-Agent-Token": credentials.agent_token,
        credentials.token_argument_name or TOKEN_ARGUMENT: credentials.token_argument,
    }
    is_issued = any(token.startswith(ISSUED_TOKEN_PREFIX) for token in tokens)
    return UnknownToken(
        "An agent token that was given is not valid.",
        hint=_ISSUED_ELSEWHERE if is_issued else _UNKNOWN,
        data={"given_in": [place for place, token in places.items() if _given(token) in tokens]},
    )


_UNKNOWN = (
    "Send the registration_token that registering returned, or none at all where AGENT_AUTH=open. "
    "Each of Authorization, X-Agent-Token and the argument registration_token counts. "
    f"Lost it? The operator runs: {reissue_command()}"
)
_ISSUED_ELSEWHERE = f"Send a token that was issued ({ISSUED_TOKEN_PREFIX}…) as Authorization: Bearer instead."


def _differing(agents: Sequence[Agent]) -> ProofsDiffer:
    return ProofsDiffer(
        f"The tokens given are of different agents: {', '.join(agent.name for agent in agents)}.",
        hint="Send the token of the agent that acts, and no other.",
    )


async def _join_code(codes: Sequence[str], agent: Agent | None, proofs: Proofs) -> bytes | None:
    """The hash of the code that may let somebody in. One that let in the very agent that calls has served."""
    if len(codes) > 1:
        raise ProofsDiffer("Two join codes were given.", hint="Send one.")
    if not codes:
        return None
    code_hash = token_hash(codes[0])
    code = await proofs.find_join_code(code_hash)
    if code is not None and agent is not None and (code.used_by, code.project_id) == (agent.name, agent.project_id):
        return None
    require_open(code, proofs.clock())
    return code_hash


def _given(token: str | None) -> str | None:
    return token.strip() or None if token is not None else None


def _same(given: str | None, expected: str | None) -> bool:
    """In constant time; what is not set equals nothing."""
    if not given or not expected:
        return False
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))
