"""Products: several projects that make one thing. Whose mail is read together is decided by what is linked."""

from __future__ import annotations

import re
import unicodedata

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound, PermissionDenied, QuotaExceeded
from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, require_to_change_project
from mcp_agent_mail.domain.projects import Project

MAX_NAME_LENGTH = 255
MAX_PROJECTS = 100
"""Of one product: its inbox and its search look into each."""
MAX_PRODUCTS = 10
"""Of one project."""

_UID = re.compile(r"[0-9a-f]{8,64}")
_CONTROL = {"Cc", "Zl", "Zp", "Cs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """`uid` names it everywhere and for good: 8 to 64 hexadecimal digits in lower case."""

    id: ProductId
    uid: str
    name: str
    created_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLink:
    """A project is part of a product since `linked_ts`."""

    product: Product
    project_id: ProjectId
    linked_ts: Micros


class UnknownProduct(NotFound):
    """No product has this uid or name."""


class UnfitProductName(InvalidInput):
    """The name cannot be a product's."""


class ProductNameTaken(Conflict):
    """The name is that of a product with another uid."""


class ProductFull(QuotaExceeded):
    """The product has as many projects, or the project as many products, as one may have."""


class OperatorLinks(PermissionDenied):
    """Strict mode: who joins a product may read its mail, so that the operator decides."""


def uid_of(key: str) -> str | None:
    """The uid that a key is; None for a key that can only be a name."""
    wanted = key.strip().lower()
    return wanted if _UID.fullmatch(wanted) else None


def product_name_key(name: str) -> str:
    """How names are compared: ignoring letter case and outer blanks, nothing else."""
    return name.strip().casefold()


def require_product_name(name: str) -> str:
    """`name` without outer blanks. Raises UnfitProductName for control characters."""
    cleaned = name.strip()
    if any(unicodedata.category(character) in _CONTROL for character in cleaned):
        raise UnfitProductName(
            "A product's name is one line without control characters.",
            hint="Send a short name, for example storefront.",
            data={"parameter": "name"},
        )
    return cleaned


def require_to_link(caller: Caller, project: Project, *, has_projects: bool) -> None:
    """May `caller` make `project` a part of a product (which `has_projects` already)?

    Linking opens mail in both directions. Under `strict` an agent may therefore only begin a product
    with its own project; further projects are joined by the operator.
    """
    require_to_change_project(caller, project.id)
    if caller.auth is AgentAuth.STRICT and has_projects and not caller.is_operator:
        raise OperatorLinks(
            "The product has projects already: their agents' mail would be opened to yours (AGENT_AUTH=strict).",
            hint="Ask the operator to link it.",
        )
