"""What proves a caller, looked up in the store: tokens and join codes by their hashes, agents as JWTs name them."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.admission import JoinCode
from mcp_agent_mail.features.identity.callers import Proofs
from mcp_agent_mail.features.identity.door_callers import is_mailbox
from mcp_agent_mail.features.projects.lookup import find_project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View


def proofs_of(store: Store, clock: Clock) -> Proofs:
    """Each asked costs a look into the store; a call that brought nothing costs none."""

    async def find_agent(token_hash: bytes) -> Agent | None:
        return await store.read(lambda view: view.agents.find_by_token_hash(token_hash))

    async def find_agent_by_id(agent_id: AgentId) -> Agent | None:
        return await store.read(lambda view: view.agents.find(agent_id))

    async def find_claimed(texts: Sequence[str], project_key: str | None) -> Sequence[Agent]:
        return await store.read(lambda view: claimed_agents(view, texts, project_key))

    async def find_join_code(code_hash: bytes) -> JoinCode | None:
        return await store.read(lambda view: view.join_codes.find(code_hash))

    return Proofs(
        find_agent=find_agent,
        find_agent_by_id=find_agent_by_id,
        find_claimed=find_claimed,
        find_join_code=find_join_code,
        clock=clock,
    )


def claimed_agents(view: View, texts: Sequence[str], project_key: str | None = None) -> list[Agent]:
    """The agents that a JWT names, each as `Name@project` (a directory or a slug), or by a name that one project alone
    has; those of the project that the call names first. Who is not there (yet) is proven by nothing; mailboxes of
    doors, `Human` and `System` never are.
    """
    found = [agent for text in texts if (agent := _claimed(view, text)) is not None]
    home = None if project_key is None else find_project(view, project_key)
    found.sort(key=lambda agent: home is None or agent.project_id != home.id)
    return list({agent.id: agent for agent in found}.values())


def _claimed(view: View, text: str) -> Agent | None:
    name, separator, key = text.strip().partition("@")
    if separator:
        project = find_project(view, key)
        named = None if project is None else view.agents.find_by_name(project.id, name)
        candidates = [] if named is None else [named]
    else:
        candidates = view.agents.find_everywhere(name)
    agents = [one for one in candidates if one.kind is AgentKind.AGENT and not is_mailbox(one)]
    return agents[0] if len(agents) == 1 else None
