"""Groups that the person writes to by one word: who holds reservations here, who is in a thread, whose program is one,
who works in a product's projects.

No agent's name holds `@` or `:`, so that no word of a group is an agent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.messages import ACTIVE_WITHIN_DAYS, MAX_NAMED_RECIPIENTS
from mcp_agent_mail.domain.products import Product, product_name_key, uid_of
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View

SIGN = "@"
RESERVATIONS = "@reservations"
THREAD = "@thread"
PROGRAM = "@program"
PRODUCT = "@product"

MOST_GROUPS = 20
"""Of one message."""
MOST_PROGRAMS = 8
"""Offered: those of the most agents."""
MOST_LEASES = 1_000
MOST_AGENTS = 1_000
"""Looked at for their program: those that were active last."""
_MOST = MAX_NAMED_RECIPIENTS + 1
MOST_IN_THREAD = 1_000
_BETWEEN_NAMES = frozenset(",;\n")
_DAY = 24 * 3_600 * SECOND


class UnknownGroup(NotFound):
    """No group is called so."""


class TooManyGroups(InvalidInput):
    """More groups than one message takes."""


class NobodyInGroup(InvalidInput):
    """A group in which no agent is, or none that mail may still reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """`word` is what stands for it among recipients. `count` is of agents, counted no further than one message may
    have recipients, and one.
    """

    word: str
    meaning: str
    count: int


def is_group(name: str) -> bool:
    """Is this among recipients the word of a group?"""
    return name.startswith(SIGN)


class GroupService:
    """Reads alone, for the operator."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def offered(self, caller: Caller, project: Project, thread_id: str = "") -> Sequence[ListedGroup]:
        """The groups of the project that somebody is in; that of the thread too, if one is given."""
        require_operator(caller)

        def look(view: View) -> list[ListedGroup]:
            words = [(RESERVATIONS, "holding a reservation here")]
            if thread_id:
                words.append((f"{THREAD}:{thread_id}", "in this thread"))
            words += [(f"{PROGRAM}:{one}", f"with the program {one}") for one in _programs(view, project)]
            for link in view.products.links_of(project.id):
                product = link.product
                key = product.uid if _BETWEEN_NAMES & set(product.name) else product.name
                words.append((f"{PRODUCT}:{key}", f"of the product {product.name}"))
            found = [
                ListedGroup(word=word, meaning=meaning, count=len(_members(view, project, word)))
                for word, meaning in words
            ]
            return [group for group in found if group.count]

        return await self._store.read(look)

    async def expanded(self, caller: Caller, project: Project, names: Sequence[str], thread_id: str = "") -> list[str]:
        """The names with each group's agents in its place, as addresses, each once. `@thread` alone is `thread_id`.

        Raises UnknownGroup, NobodyInGroup, TooManyGroups. How many one message may have is the tool's to judge: of a
        group one more than that are read.
        """
        require_operator(caller)
        if sum(map(is_group, names)) > MOST_GROUPS:
            raise TooManyGroups(
                f"One message takes at most {MOST_GROUPS} groups.", hint="Write fewer, or two messages."
            )

        def look(view: View) -> list[str]:
            found: list[str] = []
            for name in names:
                word = f"{THREAD}:{thread_id}" if name.casefold() == THREAD and thread_id else name
                found += _addresses(view, project, word) if is_group(name) else [name]
            return list(dict.fromkeys(found))

        return await self._store.read(look)


def _programs(view: View, project: Project) -> list[str]:
    agents = _active(view, project, MOST_AGENTS)
    shown: dict[str, str] = {}
    for agent in agents:
        shown.setdefault(_key(agent.program), agent.program.strip())
    counted = Counter(_key(agent.program) for agent in agents)
    fit = [key for key, _ in counted.most_common() if key and not _BETWEEN_NAMES & set(key)]
    return [shown[key] for key in fit[:MOST_PROGRAMS]]


def _addresses(view: View, project: Project, word: str) -> list[str]:
    members = _members(view, project, word)
    if not members:
        raise NobodyInGroup(
            f"{word} reaches nobody now: nothing was sent.", hint="Name an agent instead, or another group."
        )
    homes = {one: view.projects.find(one) for one in {agent.project_id for agent in members}}
    return [
        shown_name(agent.name, home.id, home.slug, project.id)
        for agent in members
        if (home := homes[agent.project_id]) is not None
    ]


def _members(view: View, project: Project, word: str) -> list[Agent]:
    """Agents that are not retired, by name; neither `Human` nor `System`."""
    kind, _, rest = word.partition(":")
    find = _GROUPS.get(kind.casefold())
    if find is None or bool(rest.strip()) == (kind.casefold() == RESERVATIONS):
        raise UnknownGroup(
            f"{word!r:.100} is no group.",
            hint=f"Groups are {RESERVATIONS}, {THREAD}:ID, {PROGRAM}:NAME and {PRODUCT}:NAME.",
            data={"recipient": word[:100]},
        )
    found = [one for one in find(view, project, rest.strip()) if one.kind is AgentKind.AGENT and not one.is_retired]
    found.sort(key=lambda agent: (agent.project_id != project.id, agent.name.casefold(), agent.id))
    return found[:_MOST]


def _holders(view: View, project: Project, _: str) -> list[Agent]:
    held = view.leases.live(project.id, LeaseKind.FILE, view.now, limit=MOST_LEASES)
    return _agents(view, {lease.agent_id for lease in held})


def _in_thread(view: View, project: Project, thread_id: str) -> list[Agent]:
    return _agents(view, view.thread_members.list_(project.id, thread_id, MOST_IN_THREAD))


def _with_program(view: View, project: Project, program: str) -> list[Agent]:
    return [agent for agent in _active(view, project, MOST_AGENTS) if _key(agent.program) == _key(program)]


def _of_product(view: View, project: Project, key: str) -> list[Agent]:
    """Active in one of its projects; of no product but those that the project is part of."""
    wanted = [link.product for link in view.products.links_of(project.id) if _is_called(link.product, key)]
    found: list[Agent] = []
    for project_id in view.products.projects(wanted[0]) if wanted else ():
        home = view.projects.find(project_id)
        if home is not None and not home.is_archived and len(found) < _MOST:
            found += _active(view, home, _MOST)
    return found


_GROUPS: Mapping[str, Callable[[View, Project, str], list[Agent]]] = {
    RESERVATIONS: _holders,
    THREAD: _in_thread,
    PROGRAM: _with_program,
    PRODUCT: _of_product,
}


def _agents(view: View, ids: Iterable[AgentId]) -> list[Agent]:
    return [agent for one in ids if (agent := view.agents.find(one)) is not None]


def _active(view: View, project: Project, limit: int) -> list[Agent]:
    return view.agents.list_(project.id, active_since=view.now - ACTIVE_WITHIN_DAYS * _DAY, limit=limit)


def _is_called(product: Product, key: str) -> bool:
    return product.uid == uid_of(key) or product_name_key(product.name) == product_name_key(key)


def _key(program: str) -> str:
    return program.strip().casefold()
