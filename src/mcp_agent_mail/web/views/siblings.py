"""Two projects that probably belong together, and why."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.oversight.sibling_rules import SiblingSuggestion
from mcp_agent_mail.features.oversight.siblings import SiblingChoice, SiblingJoin

SHOWN_NAMES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingView:
    """`first` and `second` are id, slug, name and directory of each. `reasons` are whole sentences, with what they are
    about after them. `products` are uid, name and how many projects each has; `name` is offered for a new one.
    """

    first: tuple[int, str, str, str]
    second: tuple[int, str, str, str]
    reasons: Sequence[tuple[str, str]]
    products: Sequence[tuple[str, str, int]]
    name: str


def sibling_view(choice: SiblingChoice) -> SiblingView:
    """The older project first."""
    suggestion = choice.suggestion
    first, second = ((one.id, one.slug, one.name, one.human_key) for one in (suggestion.first, suggestion.second))
    return SiblingView(
        first=first,
        second=second,
        reasons=_reasons(suggestion),
        products=[(one.product.uid, one.product.name, one.projects) for one in choice.products],
        name=choice.name,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinView:
    """`pair` are id and name of each. `product` is the uid of one that is there, empty for a new one of this `name`;
    `others` are in it, the first of them by name.
    """

    pair: Sequence[tuple[int, str]]
    product: str
    name: str
    others: Sequence[str]
    other_count: int


def join_view(joining: SiblingJoin) -> JoinView:
    """What the question says: by name at most SHOWN_NAMES of the projects that are joined by it too."""
    return JoinView(
        pair=[(one.id, one.name) for one in (joining.first, joining.second)],
        product="" if joining.product is None else joining.product.uid,
        name=joining.name,
        others=[one.name for one in joining.others[:SHOWN_NAMES]],
        other_count=len(joining.others),
    )


def _reasons(suggestion: SiblingSuggestion) -> Sequence[tuple[str, str]]:
    reasons = []
    if suggestion.remote is not None:
        reasons.append(("Their directories have the same Git remote:", suggestion.remote))
    if suggestion.folder is not None:
        reasons.append(("Their names are alike, and they lie in one folder:", suggestion.folder))
    return reasons
