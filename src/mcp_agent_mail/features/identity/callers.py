"""From what a request brought to the one answer to "who is calling". Nothing else judges tokens."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp_agent_mail.core.errors import PermissionDenied
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.caller import AgentAuth, Caller, CallerKind


class UnknownToken(PermissionDenied):
    """A token was given and is no one's: never ignored, whatever AGENT_AUTH says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRules:
    """How this server tells callers apart. `operator_token` is made at each start, for `am` on this machine."""

    auth: AgentAuth
    server_token: str | None = field(repr=False, default=None)
    operator_token: str | None = field(repr=False, default=None)


def sort_tokens(credentials: Credentials, rules: AuthRules) -> tuple[str | None, bool]:
    """The token that claims to be an agent's, if any, and whether the bearer proves the operator.

    Argument before X-Agent-Token before Bearer. The server's own token proves no agent. The
    operator's proves the operator off MCP, and nothing over MCP.
    """
    bearer = _given(credentials.bearer_token)
    is_operators = _same(bearer, rules.operator_token)
    if is_operators or _same(bearer, rules.server_token):
        bearer = None
    token = _given(credentials.token_argument) or _given(credentials.agent_token) or bearer
    return token, is_operators and credentials.via != "mcp"


def resolve_caller(
    credentials: Credentials, rules: AuthRules, find_by_token_hash: Callable[[bytes], Agent | None]
) -> tuple[Caller, Agent | None]:
    """The caller, and the agent that a token proved. Raises UnknownToken for one that is no agent's.

    An agent's token beside the operator's wins: who sends both asks to act as that agent alone.
    """
    token, is_operator = sort_tokens(credentials, rules)
    if token is None:
        kind = CallerKind.OPERATOR if is_operator else CallerKind.ANONYMOUS
        return Caller(kind=kind, auth=rules.auth), None
    agent = find_by_token_hash(token_hash(token))
    if agent is None:
        raise UnknownToken(
            "The agent token given is not valid.",
            hint="Send the registration_token that registering returned, or none at all where AGENT_AUTH=open. "
            "Lost it? The operator runs: am token reissue AGENT",
        )
    caller = Caller(
        kind=CallerKind.AGENT,
        auth=rules.auth,
        agent_id=agent.id,
        agent_name=agent.name,
        project_id=agent.project_id,
    )
    return caller, agent


def _given(token: str | None) -> str | None:
    return token.strip() or None if token is not None else None


def _same(given: str | None, expected: str | None) -> bool:
    """In constant time; what is not set equals nothing."""
    if not given or not expected:
        return False
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass"))
