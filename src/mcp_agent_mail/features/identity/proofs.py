"""What proves a caller, looked up in the store: tokens and join codes by their hashes, agents as JWTs name them."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.admission import JoinCode
from mcp_agent_mail.domain.identity.claimed_names import ClaimedName
from mcp_agent_mail.domain.identity.token_agents import AmbiguousClaim
from mcp_agent_mail.features.identity.callers import JwtAgents, Proofs
from mcp_agent_mail.features.identity.door_callers import is_mailbox
from mcp_agent_mail.features.projects.lookup import find_project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View

logger = logging.getLogger("mcp_agent_mail.identity")

_SAID_EVERY = 60 * SECOND
_SHOWN = 3


class _AmbiguityLog:
    """Tells the operator of names in JWTs that several projects have: once a minute, however many calls there are."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said_ts: Micros | None = None
        self._calls = 0

    def note(self, ambiguous: Sequence[AmbiguousClaim]) -> None:
        """One call. A clock that was set back does not silence it."""
        self._calls += 1
        now = self._clock()
        if self._said_ts is not None and 0 <= now - self._said_ts < _SAID_EVERY:
            return
        facts = {
            "names": [claim.name for claim in ambiguous[:_SHOWN]],
            "write": [address for claim in ambiguous[:_SHOWN] for address in claim.addresses],
            "calls": self._calls,
        }
        self._said_ts, self._calls = now, 0
        logger.warning("a JWT names an agent without its project: several have one", extra={"facts": facts})


def proofs_of(store: Store, clock: Clock) -> Proofs:
    """Each asked costs a look into the store; a call that brought nothing costs none."""
    ambiguity = _AmbiguityLog(clock)

    async def find_agent(token_hash: bytes) -> Agent | None:
        return await store.read(lambda view: view.agents.find_by_token_hash(token_hash))

    async def find_agent_by_id(agent_id: AgentId) -> Agent | None:
        return await store.read(lambda view: view.agents.find(agent_id))

    async def find_claimed(texts: Sequence[str], project_key: str | None) -> JwtAgents:
        claimed = await store.read(lambda view: claimed_agents(view, texts, project_key))
        if claimed.ambiguous:
            ambiguity.note(claimed.ambiguous)
        return claimed

    async def find_join_code(code_hash: bytes) -> JoinCode | None:
        return await store.read(lambda view: view.join_codes.find(code_hash))

    return Proofs(
        find_agent=find_agent,
        find_agent_by_id=find_agent_by_id,
        find_claimed=find_claimed,
        find_join_code=find_join_code,
        clock=clock,
    )


def claimed_agents(view: View, texts: Sequence[str], project_key: str | None = None) -> JwtAgents:
    """The agents that a JWT names, each as `Name@project` (a directory or a slug), or by a name that one project alone
    has; those of the project that the call names first. Who is not there (yet) is proven by nothing; mailboxes of
    doors, `Human` and `System` never are.
    """
    meant = {text: _meant_by(view, text) for text in texts}
    found = [agents[0] for agents in meant.values() if len(agents) == 1]
    home = None if project_key is None else find_project(view, project_key)
    found.sort(key=lambda agent: home is None or agent.project_id != home.id)
    return JwtAgents(
        agents=list({agent.id: agent for agent in found}.values()),
        ambiguous=[
            AmbiguousClaim(name=text.strip(), addresses=_addresses(view, agents[:_SHOWN]))
            for text, agents in meant.items()
            if len(agents) > 1
        ],
    )


def _meant_by(view: View, text: str) -> list[Agent]:
    """Several only of a name without a project."""
    claimed = ClaimedName.parse(text)
    if claimed.project_key is None:
        candidates = view.agents.find_everywhere(claimed.name)
    else:
        project = find_project(view, claimed.project_key)
        named = None if project is None else view.agents.find_by_name(project.id, claimed.name)
        candidates = [] if named is None else [named]
    return [one for one in candidates if one.kind is AgentKind.AGENT and not is_mailbox(one)]


def _addresses(view: View, agents: Sequence[Agent]) -> tuple[str, ...]:
    """How a token names each so that no other is meant."""
    projects = [(agent, view.projects.find(agent.project_id)) for agent in agents]
    return tuple(f"{agent.name}@{project.slug}" for agent, project in projects if project is not None)
