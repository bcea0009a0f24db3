"""Who is acting, and what that lets them do. Decided here, stamped by `features/identity`, never by a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field
from enum import StrEnum
from typing import TypeVar

from mcp_agent_mail.core.arguments import TOKEN_ARGUMENT
from mcp_agent_mail.core.errors import AuthenticationRequired, PermissionDenied, listed
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.reissue_command import reissue_command
from mcp_agent_mail.domain.identity.token_agents import TokenAgents


class CallerKind(StrEnum):
    """`door`: another system's caller, who acts as one agent and is proven by nothing; see `domain.doors.names`."""

    ANONYMOUS = "anonymous"
    AGENT = "agent"
    OPERATOR = "operator"
    DOOR = "door"


class AgentAuth(StrEnum):
    """`open`: an agent's name is taken at its word. `strict`: every act needs the agent's token."""

    OPEN = "open"
    STRICT = "strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWays:
    """How a call like this one can bring an agent's token; as text, the end of "Send your registration_token".

    `in_arguments`: it is a tool's. `beside_tools`: it is none, and tools can be called where it came from.
    `as_bearer`: the server has no token of its own, which alone would be taken there.
    """

    in_arguments: bool = True
    beside_tools: bool = False
    as_bearer: bool = True

    def __str__(self) -> str:
        ways = [f"as argument {TOKEN_ARGUMENT}"] if self.in_arguments else []
        ways += ["as header X-Agent-Token", *(["as Authorization: Bearer"] if self.as_bearer else [])]
        other = f"; a tool takes it as argument {TOKEN_ARGUMENT}" if self.beside_tools else ""
        return f"{listed(ways)}{other}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The one answer to "who is calling". `agent_*` are set when a token proved an agent, by its `token_hash`.

    `linked_projects` are those that are part of a product together with the agent's. `join_code` is the hash of a
    code that came along: it may let a new name in, and proves no agent. `is_remote`: it calls from another machine, so
    that no path of it means a file of this one. `is_over_mcp`: not even the operator acts as `Human` there.
    `token_agents`: what let it in is for these alone; unproven it is under `strict` then, whatever the server is.
    `role` is what let it in lets it do: a reader registers nobody, so that no hint tells it to.
    """

    kind: CallerKind
    auth: AgentAuth
    agent_id: AgentId | None = None
    agent_name: str | None = None
    project_id: ProjectId | None = None
    token_hash: bytes | None = field(default=None, compare=False, repr=False)
    linked_projects: frozenset[ProjectId] = frozenset()
    join_code: bytes | None = None
    token_ways: TokenWays = TokenWays()
    is_remote: bool = False
    is_over_mcp: bool = False
    token_agents: TokenAgents | None = None
    role: Role = Role.WRITER

    @property
    def may_register(self) -> bool:
        return self.role >= Role.WRITER

    @property
    def is_operator(self) -> bool:
        return self.kind is CallerKind.OPERATOR

    @property
    def is_verified(self) -> bool:
        return self.kind in (CallerKind.AGENT, CallerKind.OPERATOR)

    def name_in(self, project_id: ProjectId) -> str | None:
        """The agent of this project that a token proved the caller to be."""
        is_one = self.kind is CallerKind.AGENT and self.agent_id is not None and self.project_id == project_id
        return self.agent_name if is_one else None


Identify = Callable[[], Awaitable[Caller]]
"""Who calls, asked anew each time: what lasts longer than a token ends with it."""


class ReservedIdentity(PermissionDenied):
    """`Human` and `System` are no one's to act as over MCP."""


class WrongToken(PermissionDenied):
    """The token given proves another agent than the one named."""


class NotTheDoors(PermissionDenied):
    """A door's caller speaks as one agent, and this is another."""


class TokenMissing(AuthenticationRequired):
    """The act needs the agent's token and none came: in strict mode, or where what let the caller in is for others."""


_FOR_A_TOKEN = "the operator for a token of an agent: am token create --agent NAME --project PATH --role reader"
"""Whom a reader asks, who may not register, and for what."""


def _send_the_token(caller: Caller, name: str) -> str:
    other = "Register under a name of your own." if caller.may_register else f"Ask {_FOR_A_TOKEN}."
    return (
        f"Send {name}'s registration_token {caller.token_ways}. You are not {name}? {other} "
        f"Lost it? The operator runs: {reissue_command(name)}"
    )


def require_to_act(caller: Caller, agent: Agent) -> bool:
    """May `caller` act as `agent`? True when proven, False when taken at its word; raises otherwise."""
    if agent.kind is AgentKind.SYSTEM:
        raise ReservedIdentity("System is the server's own sender.", hint="Act as a registered agent.")
    if caller.is_operator and not (caller.is_over_mcp and agent.kind is AgentKind.HUMAN):
        return True
    if agent.kind is AgentKind.HUMAN:
        raise ReservedIdentity(
            "Human is the overseer; no tool may act as it.", hint="Act as a registered agent, or use `am mail`."
        )
    if caller.kind is CallerKind.AGENT:
        if caller.agent_id != agent.id:
            raise _of_others(caller.token_agents, agent.name, WrongToken) or WrongToken(
                f"The token given belongs to {caller.agent_name}, not to {agent.name}.",
                hint=_send_the_token(caller, agent.name),
            )
        return True
    if caller.kind is CallerKind.DOOR:
        if caller.agent_id != agent.id:
            raise NotTheDoors(f"This caller of a door speaks as no {agent.name}.", hint="Use the name of its own.")
        return False
    if caller.join_code is not None:
        raise WrongToken(
            f"A join code lets a new name in; it does not prove {agent.name}.",
            hint=f"Register under a name of your own, or send the registration_token of {agent.name}.",
        )
    if caller.auth is AgentAuth.STRICT:
        raise _of_others(caller.token_agents, agent.name, TokenMissing) or TokenMissing(
            f"Acting as {agent.name} needs its token (AGENT_AUTH=strict).", hint=_send_the_token(caller, agent.name)
        )
    return False


_Refusal = TypeVar("_Refusal", WrongToken, TokenMissing)


def _of_others(token_agents: TokenAgents | None, name: str, refusal: type[_Refusal]) -> _Refusal | None:
    """Where what let the caller in is for certain agents, the agent's own token beside it would help nobody."""
    if token_agents is None:
        return None
    return refusal(
        f"Acting as {name} needs a token that proves it. {token_agents.why(name)}", hint=token_agents.remedy(name)
    )


def find_unproven(caller: Caller, act: str) -> TokenMissing | None:
    """Why `caller` may not do this at all: under `strict` it must be proven, as any agent or the operator."""
    if caller.auth is not AgentAuth.STRICT or caller.is_verified:
        return None
    if (token_agents := caller.token_agents) is not None:
        remedy = token_agents.remedy(may_register=caller.may_register)
        return TokenMissing(f"{act} needs an agent's token. {token_agents.why()}", hint=remedy)
    without = "register first: macro_start_session or register_agent" if caller.may_register else f"ask {_FOR_A_TOKEN}"
    return TokenMissing(
        f"{act} needs an agent's token (AGENT_AUTH=strict).",
        hint=f"Send your registration_token {caller.token_ways}. Without one, {without}.",
    )


def require_proof(caller: Caller, act: str) -> None:
    """Before anything is changed or run for it. Who reads is asked by `domain.identity.readership`."""
    if unproven := find_unproven(caller, act):
        raise unproven


def require_to_change_project(caller: Caller, project_id: ProjectId) -> None:
    """Under `strict` it needs a token of one of its agents, or the operator."""
    require_proof(caller, "Changing a project")
    if caller.auth is not AgentAuth.STRICT or caller.is_operator:
        return
    if caller.project_id != project_id:
        raise WrongToken(
            f"The token given belongs to {caller.agent_name}, an agent of another project.",
            hint="Send the token of an agent of this project.",
        )


def require_operator(caller: Caller) -> None:
    """Raise PermissionDenied unless the caller is the operator."""
    if not caller.is_operator:
        raise PermissionDenied(
            "Only the operator may do this.",
            hint="The operator runs `am` on the machine of the server, or calls with an operator's token.",
        )
