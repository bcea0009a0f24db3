"""Products at rest, and which projects are part of them."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, ProductId, ProjectId
from mcp_agent_mail.domain.products import MAX_PRODUCTS, MAX_PROJECTS, Product, ProductLink, product_name_key
from mcp_agent_mail.store.engine.port import Connection

_COLUMNS = "p.id, p.product_uid, p.name, p.created_ts"
_BY_UID = f"SELECT {_COLUMNS} FROM products p WHERE p.product_uid = ?"
_BY_NAME = f"SELECT {_COLUMNS} FROM products p WHERE p.name_key = ?"
_NEWEST = f"SELECT {_COLUMNS} FROM products p WHERE p.id < ? ORDER BY p.id DESC LIMIT ?"
_ADD = """
    INSERT INTO products (product_uid, name, name_key, created_ts) VALUES (?, ?, ?, ?)
    RETURNING id, product_uid, name, created_ts
"""
_LINK = "INSERT INTO product_projects (product_id, project_id, linked_ts) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_PROJECTS = "SELECT project_id FROM product_projects WHERE product_id = ? ORDER BY project_id LIMIT ?"
_LINKED_TO = """
    SELECT DISTINCT b.project_id FROM product_projects a JOIN product_projects b ON b.product_id = a.product_id
    WHERE a.project_id = ? LIMIT ?
"""
_COUNT_OF = "SELECT count(*) FROM product_projects WHERE project_id = ?"
_LINKS = f"SELECT {_COLUMNS}, l.project_id, l.linked_ts FROM product_projects l JOIN products p ON p.id = l.product_id"
_EACH = f"{_LINKS} WHERE (l.product_id, l.project_id) > (?, ?) ORDER BY l.product_id, l.project_id LIMIT ?"
_EACH_OF = f"{_LINKS} WHERE l.project_id = ? AND l.product_id > ? ORDER BY l.product_id LIMIT ?"
_AT_ONCE = 500

_Row = tuple[int, str, str, int]
_LinkRow = tuple[int, str, str, int, int, int]


def _product(row: _Row) -> Product:
    number, uid, name, created_ts = row
    return Product(id=ProductId(number), uid=uid, name=name, created_ts=Micros(created_ts))


def _link(row: _LinkRow) -> ProductLink:
    *_, project_id, linked_ts = row
    return ProductLink(product=_product(row[:4]), project_id=ProjectId(project_id), linked_ts=Micros(linked_ts))


class Products:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find_by_uid(self, uid: str) -> Product | None:
        """`uid` in lower case."""
        row = self._connection.execute(_BY_UID, (uid,)).fetchone()
        return None if row is None else _product(row)

    def find_by_name(self, name: str) -> Product | None:
        row = self._connection.execute(_BY_NAME, (product_name_key(name),)).fetchone()
        return None if row is None else _product(row)

    def newest(self, limit: int, *, before: ProductId | None = None) -> list[Product]:
        """The products created last, with ids below `before`, newest first: candidates for "did you mean"."""
        return [_product(row) for row in self._connection.execute(_NEWEST, (before or MOST_NUMBER, limit))]

    def add(self, *, uid: str, name: str, now: Micros) -> Product:
        """Store a new product. Look for uid and name first, in the same unit: a second one of either is an
        IntegrityError.
        """
        return _product(self._connection.execute(_ADD, (uid, name, product_name_key(name), now)).fetchone())

    def link(self, product: Product, project_id: ProjectId, now: Micros) -> bool:
        """Make the project part of the product; False, and the first time stands, when it is that already."""
        return self._connection.execute(_LINK, (product.id, project_id, now)).rowcount == 1

    def projects(self, product: Product) -> list[ProjectId]:
        """Oldest project first. At most MAX_PROJECTS, which whoever links sees to."""
        return [ProjectId(row[0]) for row in self._connection.execute(_PROJECTS, (product.id, MAX_PROJECTS))]

    def count_of(self, project_id: ProjectId) -> int:
        """How many products the project is part of."""
        (count,) = self._connection.execute(_COUNT_OF, (project_id,)).fetchone()
        return int(count)

    def linked_to(self, project_id: ProjectId) -> frozenset[ProjectId]:
        """The projects, this one too, that are part of a product together with it; none without a product."""
        limit = MAX_PROJECTS * MAX_PRODUCTS
        return frozenset(ProjectId(row[0]) for row in self._connection.execute(_LINKED_TO, (project_id, limit)))

    def each_link(self) -> Iterable[ProductLink]:
        """Every link there is, product by product."""
        after = (0, 0)
        while rows := self._connection.execute(_EACH, (*after, _AT_ONCE)).fetchall():
            links = [_link(row) for row in rows]
            yield from links
            after = (links[-1].product.id, links[-1].project_id)

    def links_of(self, project_id: ProjectId) -> Iterable[ProductLink]:
        """The links of one project, by the product's id."""
        after = 0
        while rows := self._connection.execute(_EACH_OF, (project_id, after, _AT_ONCE)).fetchall():
            links = [_link(row) for row in rows]
            yield from links
            after = links[-1].product.id
