"""From what a caller calls a product to the product and its projects."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.errors import PermissionDenied, listed, suggest_call
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.names import did_you_mean, nearest
from mcp_agent_mail.domain.identity.readership import READING_MAIL, Readership, may_read, require_reader
from mcp_agent_mail.domain.products import Product, UnknownProduct, uid_of
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.transaction import View

_CANDIDATES = 100
"""How many of the newest products are compared for "did you mean"."""

_TOLD = 20
"""How many of the newest products the operator is told of."""


class ForeignProduct(PermissionDenied):
    """The token given proves an agent of a project that is no part of the product."""


def find_product(view: View, key: str) -> Product | None:
    """The product with this uid, else with this name."""
    uid = uid_of(key)
    found = None if uid is None else view.products.find_by_uid(uid)
    return found or view.products.find_by_name(key)


def require_product(view: View, key: str, caller: Caller | None = None) -> Product:
    """The product with this uid or name. Raises UnknownProduct with the nearest names; where none is near the operator
    is told which there are.
    """
    product = find_product(view, key)
    if product is None:
        known = view.products.newest(_CANDIDATES)
        close = nearest(key, [name for one in known for name in (one.name, one.uid)])
        is_told = not close and caller is not None and caller.is_operator
        present = [one.name for one in known[:_TOLD]] if is_told else []
        raise UnknownProduct(
            f"Unknown product: {key.strip():.300}.",
            hint=f"{did_you_mean(close) or _told(present)}ensure_product(name={key.strip()!r:.300}) creates it.",
            data={
                "parameter": "product_key",
                "nearest": close,
                **({"present": present} if present else {}),
                "suggested_tool_calls": [suggest_call("ensure_product", {"name": key.strip()[:255]})],
            },
        )
    return product


def _told(names: Sequence[str]) -> str:
    """A sentence of a hint, or nothing."""
    which = f"The {_TOLD} newest products are" if len(names) == _TOLD else "There" + (" are" if names[1:] else " is")
    return f"{which} {listed(names, 'and')}. " if names else ""


def projects_of(view: View, product: Product) -> list[Project]:
    """The product's projects, oldest first, archived ones too."""
    found = (view.projects.find(project_id) for project_id in view.products.projects(product))
    return [project for project in found if project is not None]


def open_product(view: View, caller: Caller, key: str) -> tuple[Product, list[Project]]:
    """The product and those of its projects that are not archived, for whom may read their mail: agents of its projects
    and the operator; where names are taken at their word, whoever proves no other name.
    """
    require_reader(caller, READING_MAIL)
    product = require_product(view, key, caller)
    projects = projects_of(view, product)
    readable = [project for project in projects if may_read(caller, project, Readership.WORK)]
    if caller.agent_id is not None and caller.project_id not in {project.id for project in readable}:
        raise ForeignProduct(
            f"{caller.agent_name} belongs to no project of the product {product.name}.",
            hint="products_link makes a project part of a product.",
            data={"product": product.name, "projects": [project.human_key for project in projects]},
        )
    return product, [project for project in readable if not project.is_archived]
