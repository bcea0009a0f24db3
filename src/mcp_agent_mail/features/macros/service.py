"""Macros: what agents do together anyway, as one use case each.

A macro writes in one unit of work, made of functions that the slices below offer to run in another's unit, and reads
before and after it. So it has happened as a whole or not at all.
"""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent, AttachmentsPolicy
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.contacts.results import ContactRequested
from mcp_agent_mail.features.contacts.service import ContactService
from mcp_agent_mail.features.contacts.targets import ContactTarget
from mcp_agent_mail.features.identity.actor import Actor, require_actor
from mcp_agent_mail.features.identity.register import Registered, Registration, create_identity, register
from mcp_agent_mail.features.identity.service import IdentityService
from mcp_agent_mail.features.macros.participants import (
    acting_as,
    registration,
    require_pair,
    who_begins,
    who_joins,
)
from mcp_agent_mail.features.macros.requests import (
    HandshakeRequest,
    JoinRequest,
    Newcomer,
    StartRequest,
    WelcomeMessage,
)
from mcp_agent_mail.features.macros.results import AgentRegistered, Cycled, Handshake, Joined, Reserved, Started
from mcp_agent_mail.features.messaging.read import InboxListing
from mcp_agent_mail.features.messaging.requests import InboxRequest, RecipientList, SendRequest
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.features.projects.ensure import ProjectRequest, doubt_about_new, ensure, find_foreseen
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.features.reservations.grant import GrantResult
from mcp_agent_mail.features.reservations.release import ReleasedLeases
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.features.reservations.reserve import Reserve
from mcp_agent_mail.features.reservations.service import ReservationService
from mcp_agent_mail.features.summaries.service import SummaryService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.lease_events import end_leases
from mcp_agent_mail.store.transaction import Tx, View

MAX_PEERS = 20
MAX_HELD = 200
"""Of the reservations that a session begins with, the newest."""
MESSAGES_OF_THREAD = 50
"""The newest that a thread's summary is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MacroServices:
    """The services that macros are made of."""

    projects: ProjectService
    identity: IdentityService
    contacts: ContactService
    messaging: MessagingService
    reservations: ReservationService
    summaries: SummaryService


class _OtherDirectory(Exception):  # Not an error of the caller's: the paths are read again.
    """The directory has become one of another project's since the paths were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    project: Project
    registered: Registered
    doubt: str
    decided: GrantResult | None = None


class MacroService:
    def __init__(self, store: Store, parts: MacroServices) -> None:
        self._store = store
        self._parts = parts

    async def start_session(self, caller: Caller, request: StartRequest) -> Started:
        """Project ensured, agent registered or back, files reserved, in one unit of work; then inbox and peers."""
        project_request = await self._parts.projects.project_request(request.human_key)
        try:
            begun = await self._begin(caller, request, project_request)
        except _OtherDirectory:
            begun = await self._begin(caller, request, project_request)
        project, agent = begun.project, begun.registered.agent
        begun = replace(begun, registered=self._parts.identity.recalled(begun.registered))
        self._acted(caller, agent)
        there = await self._parts.identity.list_(caller, project.human_key, limit=MAX_PEERS + 1)
        return Started(
            project=project,
            registered=await self._newest(caller, project, begun.registered),
            reserved=await self._with_stale(begun.decided),
            held=await self._store.read(lambda view: _held(view, agent)),
            inbox=await self._inbox(
                caller,
                project,
                begun.registered,
                InboxRequest(
                    project_key=project.human_key,
                    agent_name=agent.name,
                    limit=request.inbox_limit,
                    unread_first=True,
                ),
            ),
            peers=[peer for peer in there.agents if peer.id != agent.id][:MAX_PEERS],
            presences=there.presences,
            doubt=begun.doubt,
        )

    async def _begin(self, caller: Caller, request: StartRequest, project_request: ProjectRequest) -> _Begun:
        supplies = self._parts.identity.supplies()
        foreseen = await self._store.read(lambda view: find_foreseen(view, project_request))
        root = project_request.path if foreseen is None else foreseen.human_key

        def begin(tx: Tx) -> _Begun:
            doubt = doubt_about_new(tx, project_request)
            project = ensure(tx, project_request)
            if project.human_key != root:
                raise _OtherDirectory
            wanted = registration(tx, caller, project, request.newcomer)
            return _Begun(project=project, registered=register(tx, caller, wanted, supplies), doubt=doubt)

        def begin_and_reserve(tx: Tx, reserve: Reserve) -> _Begun:
            begun = begin(tx)
            agent, verified = begun.registered.agent, begun.registered.is_verified
            return replace(begun, decided=reserve(tx, Actor(project=begun.project, agent=agent, verified=verified)))

        if not request.paths:
            return await self._store.write(begin)
        asked = await self._parts.reservations.prepare(root, _reservation(root, request))
        return await self._parts.reservations.within(
            asked, lambda view: who_begins(view, caller, project_request, request.newcomer), begin_and_reserve
        )

    async def create_agent(self, caller: Caller, human_key: str, newcomer: Newcomer) -> AgentRegistered:
        """Project ensured, and a new agent registered in it, in one unit of work: its name is a hint."""
        project_request = await self._parts.projects.project_request(human_key)
        supplies = self._parts.identity.supplies()

        def create(tx: Tx) -> AgentRegistered:
            doubt = doubt_about_new(tx, project_request)
            project = ensure(tx, project_request)
            wanted = Registration(
                project_key=project.human_key,
                program=newcomer.program,
                model=newcomer.model,
                name=newcomer.name,
                task_description=newcomer.task_description,
                attachments_policy=AttachmentsPolicy.AUTO,
            )
            return AgentRegistered(
                project=project, registered=create_identity(tx, caller, wanted, supplies), doubt=doubt
            )

        return await self._store.write(create)

    async def prepare_thread(self, caller: Caller, request: JoinRequest) -> Joined:
        """What a thread says, for whoever joins it. All that may fail comes before the one write.

        It is read with the caller's own rights: who has to be a member to read has to be one before, or to hold a
        code that makes it one.
        """
        project, known = await self._store.read(lambda view: who_joins(view, caller, request))
        if known is None:
            await self._parts.identity.require_admission(caller, project, request.newcomer.name)
        reader = acting_as(caller, project) if known is None and caller.join_code is not None else caller
        (thread,) = await self._parts.summaries.summarize_threads(
            reader, project.human_key, [request.thread_id], request.wishes, per_thread_limit=MESSAGES_OF_THREAD
        )
        registered = self._parts.identity.recalled(await self._join(caller, request))
        self._acted(caller, registered.agent)
        return Joined(
            project=project,
            registered=await self._newest(caller, project, registered),
            thread=thread,
            inbox=await self._inbox(
                caller,
                project,
                registered,
                InboxRequest(
                    project_key=project.human_key,
                    agent_name=registered.agent.name,
                    limit=request.inbox_limit,
                    include_bodies=request.include_inbox_bodies,
                ),
            ),
        )

    async def _join(self, caller: Caller, request: JoinRequest) -> Registered:
        if not request.register:
            known = (await self._store.read(lambda view: who_joins(view, caller, request)))[1]
            assert known is not None, request
            return Registered(agent=known, is_verified=caller.is_verified)
        supplies = self._parts.identity.supplies()

        def unit(tx: Tx) -> Registered:
            project = require_project(tx, request.project_key)
            return register(tx, caller, registration(tx, caller, project, request.newcomer), supplies)

        return await self._store.write(unit)

    async def reservation_cycle(self, caller: Caller, request: ReserveRequest, *, auto_release: bool) -> Cycled:
        """Reserve, and with `auto_release` give back at once what was not held before."""
        holder = await self._store.read(
            lambda view: require_actor(view, caller, request.project_key, request.agent_name)
        )
        asked = await self._parts.reservations.prepare(holder.project.human_key, request)

        def unit(tx: Tx, reserve: Reserve) -> tuple[GrantResult, ReleasedLeases | None]:
            asking = require_actor(tx, caller, request.project_key, request.agent_name)
            decided = reserve(tx, asking)
            return decided, give_back(tx, decided) if auto_release else None

        decided, released = await self._parts.reservations.within(
            asked, lambda _: (holder.project.id, holder.agent.id), unit
        )
        self._acted(caller, holder.agent)
        return Cycled(reserved=await self._with_stale(decided), released=released)

    async def handshake(self, caller: Caller, request: HandshakeRequest) -> Handshake:
        """Ask for contact, approve where nobody has to be asked, and send the welcome: all of it or nothing."""
        if request.welcome.is_wanted:
            await self._parts.messaging.before_sending(request.welcome.body_md or "", called="welcome_body")
        shaken = await self._store.write(lambda tx: self._shake(tx, caller, request))
        self._acted(caller, shaken.asked.source.agent)
        return shaken

    def _shake(self, tx: Tx, caller: Caller, request: HandshakeRequest) -> Handshake:
        contacts = self._parts.contacts
        project = require_writable(require_project(tx, request.project_key))
        pair = require_pair(tx, caller, project, request)
        wanted = ContactTarget(
            project_key=project.human_key,
            from_agent=pair.requester,
            to_agent=pair.target,
            to_project=request.to_project,
            register=request.register,
            unless_near=request.unless_near,
        )
        asked = contacts.request_within(tx, caller, wanted, reason=request.reason, ttl_s=request.ttl_s)
        response = contacts.accept_within(tx, asked, request.ttl_s) if request.auto_accept else None
        welcome = None
        if request.welcome.is_wanted:
            welcome = self._parts.messaging.send_within(tx, caller, _letter(asked, request.welcome))
        return Handshake(asked=asked, response=response, welcome=welcome)

    def _acted(self, caller: Caller, agent: Agent) -> None:
        if not caller.is_operator:
            self._parts.identity.touch(agent)

    async def _newest(self, caller: Caller, project: Project, registered: Registered) -> Registered:
        known = await self._parts.identity.whois(caller, project.human_key, registered.agent.name, commit_limit=0)
        return replace(registered, agent=known.agent)

    async def _with_stale(self, decided: GrantResult | None) -> Reserved:
        stale = set() if decided is None else await self._parts.reservations.stale_among(decided.conflicts)
        return Reserved(decided=decided, stale=stale)

    async def _inbox(
        self, caller: Caller, project: Project, registered: Registered, request: InboxRequest
    ) -> InboxListing:
        reader = caller if registered.token is None else acting_as(caller, project, registered.agent)
        return await self._parts.messaging.inbox(reader, request)


def _held(view: View, agent: Agent) -> list[Lease]:
    return view.leases.live_of_agent(agent.id, LeaseKind.FILE, view.now, MAX_HELD)


def _reservation(root: str, request: StartRequest) -> ReserveRequest:
    return ReserveRequest(
        project_key=root,
        agent_name=request.newcomer.name or "",
        paths=request.paths,
        ttl_seconds=request.ttl_seconds,
        exclusive=True,
        reason=request.reason,
    )


def _letter(asked: ContactRequested, welcome: WelcomeMessage) -> SendRequest:
    """Held where the target has to approve the requester first."""
    source, target = asked.source, asked.target
    address = shown_name(target.agent.name, target.project.id, target.project.slug, source.project.id)
    return SendRequest(
        project_key=source.project.human_key,
        sender_name=source.agent.name,
        recipients=RecipientList(to=(address,)),
        subject=welcome.subject or f"Hello from {source.agent.name}",
        body_md=welcome.body_md or "",
        thread_id=welcome.thread_id,
        auto_contact_if_blocked=True,
    )


def give_back(tx: Tx, decided: GrantResult) -> ReleasedLeases:
    """What the decision granted newly: what it only prolonged was held before."""
    fresh = [lease for lease in decided.granted if lease.id not in decided.before]
    ended = end_leases(tx, fresh, EndedBy.RELEASE, acting=decided.holder.agent)
    return ReleasedLeases(holder=decided.holder, leases=ended, refused=[], at=decided.now if ended else None)
