"""Products: the use cases. A transaction begins and ends here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from mcp_agent_mail.core.errors import InvalidInput, suggest_call
from mcp_agent_mail.core.ids import ProjectId, new_product_uid
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.archive_format.products import product_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.identity.caller import Caller, require_to_change_project
from mcp_agent_mail.domain.messages import NO_INLINE, Bodies, InlineContents, MessageHead
from mcp_agent_mail.domain.products import (
    MAX_PRODUCTS,
    MAX_PROJECTS,
    Product,
    ProductFull,
    ProductLink,
    ProductNameTaken,
    require_product_name,
    require_to_link,
    uid_of,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.search.query import Filters, Order, SearchScope, read_query
from mcp_agent_mail.domain.threads import UnknownThread
from mcp_agent_mail.features.identity.delivery_hooks import NoteHanded, note_nothing
from mcp_agent_mail.features.products.inbox import ProductInboxRequest, read_product_inbox
from mcp_agent_mail.features.products.lookup import find_product, open_product, projects_of, require_product
from mcp_agent_mail.features.products.results import Linked, ProductHits, ProductInbox, SeenProduct
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.features.summaries.results import SummarizedThread
from mcp_agent_mail.features.summaries.service import DigestOptions, SummaryService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.search import search
from mcp_agent_mail.store.mail.summaries import read_thread_of_projects
from mcp_agent_mail.store.transaction import Tx

LoadInline = Callable[[Iterable[MessageHead], Bodies | None], Awaitable[InlineContents]]


async def _load_nothing(_: Iterable[MessageHead], __: Bodies | None) -> InlineContents:
    return NO_INLINE


class ProductService:
    """`make_uid` draws the uid of a product that is not given one. `load_inline` reads what is shown beside bodies, and
    `note_handed` is told of what is in answers.
    """

    def __init__(
        self,
        store: Store,
        summaries: SummaryService,
        *,
        load_inline: LoadInline = _load_nothing,
        note_handed: NoteHanded = note_nothing,
        make_uid: Callable[[], str] = new_product_uid,
    ) -> None:
        self._store = store
        self._summaries = summaries
        self._load_inline = load_inline
        self._note_handed = note_handed
        self._make_uid = make_uid

    async def ensure(self, product_key: str | None, name: str | None) -> Product:
        """The product of this key or name, created if it is new. Safe to repeat and to race."""
        key, called = (None if text is None or not text.strip() else text.strip() for text in (product_key, name))
        if key is None and called is None:
            raise InvalidInput(
                "ensure_product needs product_key or name.",
                hint="Send a name, for example storefront.",
                data={"accepted": ["product_key", "name"]},
            )
        made = self._make_uid()
        return await self._store.write(lambda tx: _ensure(tx, key, called, made))

    async def link(self, caller: Caller, product_key: str, project_key: str) -> Linked:
        """Make the project a part of the product. The first time stands; its archive is told."""

        def unit(tx: Tx) -> Linked:
            product = require_product(tx, product_key, caller)
            project = require_project(tx, project_key)
            _link(tx, caller, product, project)
            return Linked(product=product, project=project)

        return await self._store.write(unit)

    async def look(self, product_key: str, caller: Caller | None = None) -> SeenProduct:
        """The product and its projects, for anybody who knows its name or uid."""
        return await self._store.read(
            lambda view: SeenProduct(
                product=(product := require_product(view, product_key, caller)), projects=projects_of(view, product)
            )
        )

    async def inbox(self, caller: Caller, request: ProductInboxRequest) -> ProductInbox:
        """What agents of this name got in the product's projects, newest first."""
        inbox = await self._store.read(lambda view: read_product_inbox(view, caller, request))
        for project_id, owner in inbox.owners.items():
            own = [entry.head.id for entry, project in inbox.entries if project.id == project_id]
            self._note_handed(caller, owner, own)
        heads = {entry.head.id: entry.head for entry, _ in inbox.entries}
        return replace(inbox, inline=await self._load_inline(heads.values(), inbox.bodies))

    async def search(self, caller: Caller, product_key: str, query: str, limit: int) -> ProductHits:
        """Mail of the product's projects that holds the words; mail of several of them once."""
        _, projects = await self._store.read(lambda view: open_product(view, caller, product_key))
        parsed = read_query(query)
        if parsed is None or not projects:
            return ProductHits(hits=[], is_asked=parsed is not None)
        first, *more = projects
        reader = SearchScope(
            project_id=first.id,
            agent_id=None,
            whole_project=True,
            more_projects=tuple(project.id for project in more),
        )
        hits = await search(self._store, parsed, reader, Filters(), order=Order.RELEVANCE, limit=limit)
        by_id = {project.id: project for project in projects}
        of_projects = [(hit, by_id[hit.project_id]) for hit in hits if hit.project_id is not None]
        return ProductHits(hits=of_projects, is_literal=parsed.is_literal)

    async def summarize_thread(
        self, caller: Caller, product_key: str, thread_id: str, wishes: DigestOptions, *, limit: int
    ) -> SummarizedThread:
        """The thread's newest `limit` messages in all projects of the product; mail of several of them counts once."""
        product, projects = await self._store.read(lambda view: open_product(view, caller, product_key))
        ids = [project.id for project in projects]
        thread = await read_thread_of_projects(self._store, ids, thread_id, limit=limit)
        if not thread.messages:
            raise UnknownThread(
                f"No project of the product {product.name} has mail in thread {thread_id}.",
                hint="search_messages_product finds mail with its thread ids; letter case counts.",
                data={"thread_id": thread_id},
            )
        return await self._summaries.summarize_mail(thread, wishes)


def _ensure(tx: Tx, key: str | None, name: str | None, made: str) -> Product:
    known = None if key is None else find_product(tx, key)
    if known is not None:
        return known
    uid = None if key is None else uid_of(key)
    called = require_product_name(name or key or "")
    namesake = tx.products.find_by_name(called)
    if namesake is None:
        tx.require_room()
        return tx.products.add(uid=uid or made, name=called, now=tx.now)
    if uid is not None:
        raise ProductNameTaken(
            f"The product {namesake.name} has the uid {namesake.uid}, not {uid}.",
            hint="Leave product_key out to get that product, or choose another name.",
            data={
                "parameter": "name",
                "product_uid": namesake.uid,
                "suggested_tool_calls": [suggest_call("ensure_product", {"product_key": namesake.uid})],
            },
        )
    return namesake


def _link(tx: Tx, caller: Caller, product: Product, project: Project) -> None:
    linked = tx.products.projects(product)
    if project.id in linked:
        require_to_change_project(caller, project.id)
        return
    require_to_link(caller, project, has_projects=bool(linked))
    require_writable(project)
    _require_room(tx, product, project, len(linked))
    tx.require_room()
    now = tx.now
    tx.products.link(product, project.id, now)
    link = ProductLink(product=product, project_id=project.id, linked_ts=now)
    tx.outbox.add(
        NewEvent(
            project_id=project.id,
            kind=EventKind.PRODUCT,
            agent_id=caller.agent_id,
            message_id=None,
            snapshot=product_snapshot(link, _acting(tx, caller, project.id)),
        ),
        now,
    )


def _require_room(tx: Tx, product: Product, project: Project, linked: int) -> None:
    if linked >= MAX_PROJECTS:
        raise ProductFull(
            f"The product {product.name} has {linked} projects, as many as one may have.",
            hint="Make a second product.",
            data={"max": MAX_PROJECTS},
        )
    if tx.products.count_of(project.id) >= MAX_PRODUCTS:
        raise ProductFull(
            f"{project.human_key} is part of {MAX_PRODUCTS} products, as many as one project may be.",
            hint="Use one of them.",
            data={"max": MAX_PRODUCTS},
        )


def _acting(tx: Tx, caller: Caller, seen_from: ProjectId) -> str | None:
    """How the commit names a proven agent."""
    agent = None if caller.agent_id is None else tx.agents.find(caller.agent_id)
    home = None if agent is None else tx.projects.find(agent.project_id)
    if agent is None or home is None:
        return None
    return shown_name(agent.name, home.id, home.slug, seen_from)
