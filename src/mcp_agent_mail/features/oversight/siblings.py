"""Projects that probably belong together: suggested by what is known of them, joined or dismissed by a person."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence

from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.concurrency.looks import DirectorySilent, LooksClosed, TooManyLooks
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller, find_unproven, require_operator
from mcp_agent_mail.domain.products import (
    MAX_NAME_LENGTH,
    Product,
    ProductNameTaken,
    UnknownProduct,
    require_product_name,
)
from mcp_agent_mail.domain.projects import Project, ProjectPair, UnfitPath, UnknownProject, pair_of
from mcp_agent_mail.features.oversight.sibling_rules import (
    SiblingSuggestion,
    common_name,
    folder_and_name,
    suggest_siblings,
)
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View

_ACT = "Asking Git about a directory"

MOST_PROJECTS = 300
"""That are looked at: those that were made last, and are not set aside."""
WITHIN_S = 1.0
"""For all directories together. What was not seen by then is seen the next time."""
REMEMBERED_S = 600.0
"""How long a directory's remote is taken for what it was."""
_PASSED_OVER_S = 30.0


class NoPair(InvalidInput):
    """Two projects were to be named, and are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingProduct:
    """A product that one of two suggested projects is part of, with how many projects it has."""

    product: Product
    projects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingChoice:
    """A suggestion with what a person may put both into: products that one of them is part of, or a new one of this
    name, which no product has. Both are empty for anybody but the operator, who alone decides.
    """

    suggestion: SiblingSuggestion
    products: Sequence[SiblingProduct]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingJoin:
    """What it is to join two projects: in `product`, where `others` are already; None for a new one of this `name`."""

    first: Project
    second: Project
    product: Product | None
    name: str
    others: Sequence[Project] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingChoices:
    """`is_whole`: all directories were looked at that could be, in the time that there is for it."""

    choices: Sequence[SiblingChoice]
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    projects: Sequence[Project]
    products: Collection[tuple[ProductId, ProjectId]]
    dismissed: Collection[ProjectPair]


class SiblingService:
    """`within_s`: so long all looks at directories may take together."""

    def __init__(
        self,
        store: Store,
        identities: Identities,
        *,
        within_s: float = WITHIN_S,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._identities = identities
        self._within_s = within_s
        self._elapsed = elapsed
        # Until when it counts, and what it is.
        self._remotes: OrderedDict[str, tuple[float, str | None]] = OrderedDict()

    async def suggested(self, caller: Caller) -> SiblingChoices:
        """As far as MOST_SUGGESTED of them. What Git's files say of a directory counts for who may ask Git of it."""
        known = await self._store.read(_known)
        remotes: dict[ProjectId, str] = {}
        is_whole = True
        if find_unproven(caller, _ACT) is None:
            is_whole = await self._look(known.projects)
            remotes = {one.id: remote for one in known.projects if (remote := self._remote(one)) is not None}
        found = await computed(
            lambda: suggest_siblings(
                known.projects, remotes=remotes, products=known.products, dismissed=known.dismissed
            )
        )
        if not caller.is_operator:
            choices = [SiblingChoice(suggestion=one, products=(), name="") for one in found]
        else:
            choices = await self._store.read(lambda view: [_choice(view, one) for one in found])
        return SiblingChoices(choices=choices, is_whole=is_whole)

    async def joining(self, caller: Caller, ids: ProjectPair, *, product_uid: str, name: str) -> SiblingJoin:
        """Both in the product of this uid; without one in a new one of this name, which no product has: whoever makes
        one by it joins no strangers. For the operator. Raises NoPair, UnknownProject, UnknownProduct, ProductNameTaken
        and UnfitProductName.
        """
        require_operator(caller)
        return await self._store.read(lambda view: _joining(view, ids, product_uid, name))

    async def dismiss(self, caller: Caller, first: ProjectId, second: ProjectId) -> None:
        """The two are suggested no more; said of projects of products, it holds for those of each. For the operator."""
        require_operator(caller)

        def unit(tx: Tx) -> None:
            one, other = _require_pair(tx, first, second)
            tx.require_room()
            tx.siblings.dismiss(pair_of(one.id, other.id), tx.now)

        await self._store.write(unit)

    def _remote(self, project: Project) -> str | None:
        return self._remotes.get(project.human_key, (0.0, None))[1]

    async def _look(self, projects: Sequence[Project]) -> bool:
        """At the directories that were not seen lately. False where the time did not do."""
        now = self._elapsed()
        wanted = [one.human_key for one in projects if self._remotes.get(one.human_key, (now, None))[0] <= now]
        try:
            async with asyncio.timeout(self._within_s):
                for path in wanted:
                    await self._see(path)
        except TimeoutError:
            return False
        return True

    async def _see(self, path: str) -> None:
        """One that does not answer is passed over by those who look next, for a while."""
        self._remember(path, _PASSED_OVER_S, None)
        try:
            found = await self._identities.remote(path)
        except (DirectorySilent, TooManyLooks, LooksClosed, UnfitPath):
            return
        self._remember(path, REMEMBERED_S, found)

    def _remember(self, path: str, for_s: float, remote: str | None) -> None:
        self._remotes.pop(path, None)
        self._remotes[path] = (self._elapsed() + for_s, remote)
        while len(self._remotes) > 2 * MOST_PROJECTS:
            self._remotes.popitem(last=False)


def _known(view: View) -> _Known:
    projects = view.projects.newest(MOST_PROJECTS)
    ids = [project.id for project in projects]
    return _Known(projects=projects, products=view.siblings.products(ids), dismissed=view.siblings.dismissed())


def _choice(view: View, suggestion: SiblingSuggestion) -> SiblingChoice:
    links = [*view.products.links_of(suggestion.first.id), *view.products.links_of(suggestion.second.id)]
    return SiblingChoice(
        suggestion=suggestion,
        products=[
            SiblingProduct(product=link.product, projects=len(view.products.projects(link.product))) for link in links
        ],
        name=_free_name(view, suggestion),
    )


def _free_name(view: View, suggestion: SiblingSuggestion) -> str:
    """Of the remote's last part, else of what is the same in what both are called."""
    remote = "" if suggestion.remote is None else suggestion.remote.rpartition("/")[2]
    common = common_name(*(folder_and_name(one)[1] for one in (suggestion.first, suggestion.second)))
    wanted = (remote or common or suggestion.first.slug)[: MAX_NAME_LENGTH - 10]
    names = (wanted, *(f"{wanted} {number}" for number in range(2, 10)))
    return next((name for name in names if view.products.find_by_name(name) is None), "")


def _require_pair(view: View, first: ProjectId, second: ProjectId) -> tuple[Project, Project]:
    if first == second:
        raise NoPair("A project is no sibling of itself.", hint="Open the page of projects again.")
    found = [view.projects.find(one) for one in sorted((first, second))]
    both = [one for one in found if one is not None]
    if len(both) < len(found):
        raise UnknownProject(
            "One of the two projects is there no more.",
            hint="Open the page of projects again: it lists those there are.",
        )
    return both[0], both[1]


def _joining(view: View, ids: ProjectPair, product_uid: str, name: str) -> SiblingJoin:
    one, other = _require_pair(view, *ids)
    if not product_uid:
        return SiblingJoin(first=one, second=other, product=None, name=_require_new(view, name))
    if (product := view.products.find_by_uid(product_uid)) is None:
        raise UnknownProduct(
            "The product that was chosen is there no more.", hint="Open the page of projects again, and choose another."
        )
    there = [view.projects.find(id_) for id_ in view.products.projects(product) if id_ not in (one.id, other.id)]
    others = [found for found in there if found is not None]
    return SiblingJoin(first=one, second=other, product=product, name=product.name, others=others)


def _require_new(view: View, name: str) -> str:
    wanted = require_product_name(name)
    if not wanted or len(wanted) > MAX_NAME_LENGTH:
        raise InvalidInput(f"A product's name has 1 to {MAX_NAME_LENGTH} characters.", hint="Write one.")
    if (taken := view.products.find_by_name(wanted)) is not None:
        raise ProductNameTaken(
            f"There is a product {taken.name} already, which neither project was chosen to join.",
            hint="Choose it if it is offered, or write another name.",
        )
    return wanted
