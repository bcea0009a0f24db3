"""Identity: who is calling, and the agents of a project. A transaction begins and ends here."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import SECOND, Clock
from mcp_agent_mail.core.ids import AGENT_TOKEN_PREFIX, AgentId, new_token, token_hash
from mcp_agent_mail.core.tools import Credentials, current_credentials, tell_doer
from mcp_agent_mail.domain.agents import Agent, AgentKind, AgentStatus
from mcp_agent_mail.domain.identity.caller import Caller, ReservedIdentity, require_operator
from mcp_agent_mail.domain.identity.names import candidate_names
from mcp_agent_mail.domain.identity.readership import Readership, may_read
from mcp_agent_mail.domain.identity.windows import find_window_uuid, parse_window_uuid
from mcp_agent_mail.domain.leases import EndedBy, Lease
from mcp_agent_mail.domain.presence import presence_in
from mcp_agent_mail.domain.products import MAX_PROJECTS
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.identity.actor import require_actor, require_not_put_away
from mcp_agent_mail.features.identity.admission import AdmissionRequest, NamingRules, require_admission
from mcp_agent_mail.features.identity.callers import AuthRules, resolve_caller
from mcp_agent_mail.features.identity.delivery_hooks import NO_HOOKS, DeliveryHooks
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.identity.proofs import proofs_of
from mcp_agent_mail.features.identity.register import (
    Registered,
    Registration,
    Supplies,
    create_identity,
    record_claim,
    record_event,
    register,
)
from mcp_agent_mail.features.identity.results import AgentChange, AgentList, IdentityProof, KnownAgent, LinkedAgent
from mcp_agent_mail.features.identity.windows import WindowUse
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.ladder import GONE_AT_ONCE
from mcp_agent_mail.store.lease_events import end_leases
from mcp_agent_mail.store.transaction import Tx, View

LEASES_AT_ONCE = 200
"""Ended in one unit of work."""

MAX_AGENTS = 1_000
"""Of one answer; beyond it the ones active longest ago are left out."""


MAX_ELSEWHERE = 20
"""Agents of other projects that are shown beside a project's own."""


class IdentityService:
    """`choose` draws a word for a generated name. `hooks` are those of delivery.
    `tells_gone`: senders learn who retires with their urgent mail, or mail that asks for an acknowledgement, unread.
    """

    def __init__(
        self,
        store: Store,
        activity: Activity,
        *,
        rules: AuthRules,
        new_names: NamingRules,
        clock: Clock,
        choose: Callable[[Sequence[str]], str] = secrets.choice,
        hooks: DeliveryHooks = NO_HOOKS,
        tells_gone: bool = True,
    ) -> None:
        self._store = store
        self._activity = activity
        self._rules = rules
        self._new_names = new_names
        self._clock = clock
        self._proofs = proofs_of(store, clock)
        self._choose = choose
        self._note_acting = hooks.acting
        self.presence_of = hooks.presence_of
        self._tells_gone = tells_gone

    async def caller(self) -> Caller:
        """Who runs the current call. A proven agent is active by calling at all."""
        credentials = current_credentials()
        caller, agent = await resolve_caller(credentials, self._rules, self._proofs)
        if (window := find_window_uuid(credentials.window_id)) is not None:
            self._activity.note_window(window)
        if agent is None:
            return caller
        self.touch(agent)
        return await self._with_links(caller, agent)

    async def onlooker(self) -> Caller:
        """As `caller`, for what an agent does not do itself: nobody counts as active by it."""
        caller, agent = await resolve_caller(current_credentials(), self._rules, self._proofs)
        return caller if agent is None else await self._with_links(caller, agent)

    async def _with_links(self, caller: Caller, agent: Agent) -> Caller:
        linked = await self._store.read(lambda view: view.products.linked_to(agent.project_id))
        return replace(caller, linked_projects=linked) if linked else caller

    async def find_proven(self, credentials: Credentials) -> IdentityProof | None:
        """The agent that a token among these credentials proves. Raises as `caller` does; nobody counts as active by
        it.
        """
        _, agent = await resolve_caller(credentials, self._rules, self._proofs)
        if agent is None:
            return None
        project = await self._store.read(lambda view: view.projects.find(agent.project_id))
        assert project is not None, agent
        return IdentityProof(project=project.human_key, agent=agent.name)

    async def directory(self, project_key: str) -> str:
        """The human key of the project, however it is named. Raises UnknownProject."""
        return (await self._store.read(lambda view: require_project(view, project_key))).human_key

    async def require_admission(self, caller: Caller, project: Project, name: str | None) -> None:
        """Refuse a newcomer before work is done for it; the unit that lets it in decides again."""
        admission_request = AdmissionRequest(
            project=project, caller=caller, admission=self._new_names.admission, name=name
        )
        await self._store.read(lambda view: require_admission(view, admission_request))

    def touch(self, agent: Agent) -> None:
        """`agent` has just done something, and the current call is its; written with the next few seconds' activity."""
        tell_doer(agent.project_id, agent.name)
        self._note_acting(agent)
        self._activity.note(agent)

    def supplies(self) -> Supplies:
        """What one registration needs that its unit of work may not draw itself; a new set for each call."""
        return Supplies(
            new_names=self._new_names,
            candidates=candidate_names(self._choose),
            token=new_token(AGENT_TOKEN_PREFIX),
            window=self._window(),
        )

    def _window(self) -> WindowUse | None:
        given = current_credentials().window_id
        return None if given is None else WindowUse(uuid=parse_window_uuid(given), ttl=self._activity.window_ttl)

    async def register(self, caller: Caller, wanted: Registration) -> Registered:
        """Come back as the agent of this name, or become a new one. Eight at once are one identity."""
        supplies = self.supplies()
        registered = self.recalled(await self._store.write(lambda tx: register(tx, caller, wanted, supplies)))
        if not caller.is_operator:
            self.touch(registered.agent)
        return replace(registered, agent=self._newest(registered.agent))

    def recalled(self, registered: Registered) -> Registered:
        """`registered` with the latest activity of the agent before this call, which is not to be noted yet. A call
        with its token is activity itself: then what the store knew stands.
        """
        if registered.was is None or registered.is_verified:
            return registered
        return replace(registered, was=self._newest(registered.was))

    async def create(self, caller: Caller, wanted: Registration) -> Registered:
        """Become a new agent, whoever has the name that was hinted at."""
        supplies = self.supplies()
        return await self._store.write(lambda tx: create_identity(tx, caller, wanted, supplies))

    async def whois(self, caller: Caller, project_key: str, agent_name: str, *, commit_limit: int) -> KnownAgent:
        """Any agent, also by a name that doors know it by, `Human` and `System` and retired ones too. `commit_limit` 0
        leaves the commits out, and so do those who may not read the project's mail: they find whom to write to, and no
        more.
        """

        def look(view: View) -> KnownAgent:
            project = require_project(view, project_key)
            agent = require_agent(view, project, agent_name)
            shown = commit_limit if may_read(caller, project, Readership.WORK) else 0
            commits = view.agents.recent_commits(agent.id, shown) if shown else []
            presence = presence_in(project, agent, self.presence_of)
            aliases = view.wire_names.of_agent(agent.id)
            return KnownAgent(agent=self._newest(agent), recent_commits=commits, presence=presence, aliases=aliases)

        return await self._store.read(look)

    async def list_(
        self,
        caller: Caller,
        project_key: str,
        *,
        include_retired: bool = False,
        active_within_s: int | None = None,
        limit: int,
    ) -> AgentList:
        """The registered agents, less `Human` and `System`, who are in every project."""
        since = 0 if active_within_s is None else max(0, self._clock() - active_within_s * SECOND)

        def look(view: View) -> AgentList:
            project = require_project(view, project_key)
            stored = view.agents.list_(project.id, include_retired=include_retired, active_since=since, limit=limit)
            total = view.agents.count(project.id, include_retired=include_retired, active_since=since)
            unseen = self._noted_since(view, project, {agent.id for agent in stored}, include_retired=include_retired)
            total += sum(agent.last_active_ts < since for agent in unseen)
            agents = self._activity.with_activity([*stored, *unseen])
            agents.sort(key=lambda agent: (agent.last_active_ts, agent.id), reverse=True)
            shown = agents[:limit]
            return AgentList(
                project=project,
                agents=shown,
                total=total,
                unread={agent.id: _unread(view, caller, project, agent) for agent in shown},
                presences={agent.id: presence_in(project, agent, self.presence_of) for agent in shown},
                aliases=view.wire_names.of_agents(project.id, (agent.id for agent in shown)),
            )

        return await self._store.read(look)

    async def elsewhere(self, project: Project, *, active_within_s: int | None = None) -> list[LinkedAgent]:
        """Agents of the other projects of its products, last active first, MAX_ELSEWHERE at most: retired ones and
        archived projects are left out.
        """
        since = 0 if active_within_s is None else max(0, self._clock() - active_within_s * SECOND)

        def look(view: View) -> list[LinkedAgent]:
            linked = sorted(view.products.linked_to(project.id) - {project.id})[:MAX_PROJECTS]
            homes = [home for one in linked if (home := view.projects.find(one)) is not None and not home.is_archived]
            found = [
                LinkedAgent(project=home, agent=agent)
                for home in homes
                for agent in self._activity.with_activity(
                    view.agents.list_(home.id, active_since=since, limit=MAX_ELSEWHERE)
                )
            ]
            found.sort(key=lambda one: (one.agent.last_active_ts, one.agent.id), reverse=True)
            return found[:MAX_ELSEWHERE]

        return await self._store.read(look)

    async def retire(self, caller: Caller, project_key: str, agent_name: str) -> AgentChange:
        """Retire the agent: no new mail in or out; history and name stay, and its leases end. The first time stands.
        Whom the operator has retired no call and no mail at a door brings back.
        """
        ended: list[Lease] = []
        gone: list[int] = []

        def change(tx: Tx, agent: Agent) -> Agent:
            retired = agent
            by_operator = caller.is_operator or agent.retired_by_operator
            if not agent.is_retired or by_operator != agent.retired_by_operator:
                since = agent.retired_ts or tx.now
                retired = tx.agents.set_retired(agent.id, since, tx.now, by_operator=by_operator)
                record_event(tx, retired, _author(caller, agent))
            ended.extend(_end_some(tx, caller, retired))
            gone.append(self._tell_gone(tx, retired))
            return retired

        acted = await self._act(caller, project_key, agent_name, change)
        more = len(ended)
        while more >= LEASES_AT_ONCE:
            # In units that hold nobody up: a retired agent is granted no new ones meanwhile.
            rest = await self._store.write(lambda tx: _end_some(tx, caller, acted.agent))
            ended += rest
            more = len(rest)
        while gone[-1] >= GONE_AT_ONCE:
            gone.append(await self._store.write(lambda tx: self._tell_gone(tx, acted.agent)))
        return replace(acted, released=sum(lease.ended_by is EndedBy.RETIREMENT for lease in ended))

    def _tell_gone(self, tx: Tx, retired: Agent) -> int:
        """Of at most GONE_AT_ONCE copies; how many."""
        return tx.ladder.tell_gone(retired.id, tx.now, GONE_AT_ONCE) if self._tells_gone else 0

    async def unretire(self, caller: Caller, project_key: str, agent_name: str) -> AgentChange:
        """Bring a retired agent back; nothing changes for one that is active. One that the operator has retired comes
        back by its word alone: else raises AgentRetired.
        """

        def change(tx: Tx, agent: Agent) -> Agent:
            if not agent.is_retired:
                return agent
            if not caller.is_operator:
                require_not_put_away(tx, agent, require_project(tx, project_key))
            back = tx.agents.set_retired(agent.id, None, tx.now)
            record_event(tx, back, _author(caller, agent))
            return back

        return await self._act(caller, project_key, agent_name, change)

    async def set_status(
        self, caller: Caller, project_key: str, agent_name: str, status: AgentStatus, note: str | None
    ) -> AgentChange:
        """Set the agent's status and note; without a note the one before is cleared."""

        def change(tx: Tx, of: Agent) -> Agent:
            return tx.agents.set_status(of.id, status, note, tx.now)

        return await self._act(caller, project_key, agent_name, change)

    async def reissue_token(self, caller: Caller, project_key: str, agent_name: str) -> Registered:
        """A new token for an agent that lost its own; the old one is void. The operator's right."""
        require_operator(caller)
        token = new_token(AGENT_TOKEN_PREFIX)

        def unit(tx: Tx) -> Agent:
            agent = require_agent(tx, require_project(tx, project_key), agent_name)
            if agent.kind is not AgentKind.AGENT:
                raise ReservedIdentity(f"{agent.name} has no token.", hint="Name a registered agent.")
            was_claimed = tx.agents.has_token(agent.id)
            tx.agents.set_token_hash(agent.id, token_hash(token))
            if not was_claimed:
                record_claim(tx, agent, None)
            return agent

        return Registered(agent=await self._store.write(unit), is_verified=True, token=token)

    async def _act(
        self, caller: Caller, project_key: str, agent_name: str, change: Callable[[Tx, Agent], Agent]
    ) -> AgentChange:
        """One change to an agent by itself (or the operator, whose acts are not the agent's activity)."""

        def unit(tx: Tx) -> AgentChange:
            actor = require_actor(tx, caller, project_key, agent_name)
            require_changeable(actor.agent)
            require_writable(actor.project)
            return AgentChange(project=actor.project, agent=change(tx, actor.agent), is_verified=actor.verified)

        acted = await self._store.write(unit)
        if not caller.is_operator:
            self.touch(acted.agent)
        presence = presence_in(acted.project, acted.agent, self.presence_of)
        return replace(acted, agent=self._newest(acted.agent), presence=presence)

    def _newest(self, agent: Agent) -> Agent:
        return self._activity.with_activity([agent])[0]

    def _noted_since(self, view: View, project: Project, seen: set[int], *, include_retired: bool) -> list[Agent]:
        """Agents whose activity the store does not know yet, and whom its own order may therefore have left out."""
        found = [view.agents.find(agent_id) for agent_id in self._activity.noted_in(project.id) if agent_id not in seen]
        return [
            agent
            for agent in found
            if agent is not None and agent.kind is AgentKind.AGENT and (include_retired or not agent.is_retired)
        ]


def _unread(view: View, caller: Caller, project: Project, agent: Agent) -> int | None:
    """Its own count for itself; for others what is open to them all, so that a blind copy cannot be counted."""
    if may_read(caller, project, Readership.OWN, [agent.id]):
        return agent.unread_count - view.unread.passed(agent.id).unread
    if not may_read(caller, project, Readership.WORK):
        return None
    return agent.open_unread_count - view.unread.passed(agent.id).open


def _end_some(tx: Tx, caller: Caller, retired: Agent) -> list[Lease]:
    """At most LEASES_AT_ONCE of what a retired agent still holds."""
    leases = tx.leases.of_agent(retired.id, limit=LEASES_AT_ONCE)
    return end_leases(tx, leases, EndedBy.RETIREMENT, acting=None if caller.is_operator else retired)


def _author(caller: Caller, agent: Agent) -> AgentId | None:
    """Whose act the archive shows: the agent's, unless the operator did it."""
    return None if caller.is_operator else agent.id


def require_changeable(agent: Agent) -> None:
    """Raise for `Human`, who can neither retire nor be set busy, not even by the operator."""
    if agent.kind is not AgentKind.AGENT:
        raise ReservedIdentity(f"{agent.name} is in every project as it is.", hint="Name a registered agent.")
