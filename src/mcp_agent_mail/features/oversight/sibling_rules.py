"""Which projects probably belong together: the same remote, or the same parent folder and a like name.

Pure: what is known of the projects is given. Nothing is joined by likeness: a person is asked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, takewhile

from mcp_agent_mail.core.ids import ProductId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.likeness import likeness, one_hint_budget
from mcp_agent_mail.domain.projects import Project, ProjectPair

MOST_SUGGESTED = 20
MOST_OF_GROUP = 40
"""Projects of one remote, or one folder, that are compared with each other: those that were made last."""

_ALIKE = 0.8
_SHORTEST_WORD = 3
_WORD = lazy_pattern(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingSuggestion:
    """`first` was made before `second`. `remote` is what both have, None where they do not; `folder` is the parent of
    both where their names are alike. One of the two is there.
    """

    first: Project
    second: Project
    remote: str | None
    folder: str | None


def suggest_siblings(
    projects: Sequence[Project],
    *,
    remotes: Mapping[ProjectId, str],
    products: Collection[tuple[ProductId, ProjectId]],
    dismissed: Collection[ProjectPair],
) -> list[SiblingSuggestion]:
    """At most MOST_SUGGESTED, those with the same remote first, of each kind in the order of `projects`. Of many that
    belong together no more pairs are suggested than join them all. What it may cost is counted: once the steps of
    comparing names are spent, names count as unlike.
    """
    joined = _joined(products)
    # What was said of one project of a product holds for all of them.
    refused = {frozenset(map(joined.leader, pair)) for pair in dismissed}
    asked = _joined(products)
    found: list[SiblingSuggestion] = []
    with one_hint_budget():
        for one, other in chain(_of_one_remote(projects, remotes), _of_one_folder(projects)):
            if len(found) == MOST_SUGGESTED:
                break
            if frozenset((joined.leader(one.id), joined.leader(other.id))) in refused:
                continue
            if asked.join(one.id, other.id):
                found.append(_suggestion(one, other, remotes))
    return found


def is_like(name: str, other: str) -> bool:
    """Two names that begin with the same whole words, or are spelt alike; with a word in common less is enough."""
    words, others = _WORD.findall(name.casefold()), _WORD.findall(other.casefold())
    shorter = min(len(words), len(others))
    if shorter and words[:shorter] == others[:shorter]:
        return True
    has_shared_word = any(len(word) >= _SHORTEST_WORD for word in {*words} & {*others})
    alike = likeness(name.casefold(), other.casefold())
    return alike >= _ALIKE or (alike > 0 and has_shared_word)


def folder_and_name(project: Project) -> tuple[str, str]:
    """The folder that its directory lies in, and what it is called there."""
    folder, _, name = project.human_key.rpartition("/")
    return folder or "/", name


def common_name(name: str, other: str) -> str:
    """What both names begin with, in whole words, else what they end with; the first where that is too little."""
    words, others = list(_WORD.finditer(name)), list(_WORD.finditer(other))
    leading = _shared(words, others)
    if leading and len(found := name[words[0].start() : words[leading - 1].end()]) >= _SHORTEST_WORD:
        return found
    trailing = _shared(words[::-1], others[::-1])
    if trailing and len(found := name[words[-trailing].start() : words[-1].end()]) >= _SHORTEST_WORD:
        return found
    return name


def _shared(words: Sequence[re.Match[str]], others: Sequence[re.Match[str]]) -> int:
    """How many words are the same before the first that is not."""
    pairs = zip(words, others, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0][0].casefold() == pair[1][0].casefold(), pairs))


class _Parties:
    """Who is joined with whom, also through others."""

    def __init__(self) -> None:
        self._above: dict[ProjectId, ProjectId] = {}

    def leader(self, project_id: ProjectId) -> ProjectId:
        """One of the party, the same for all of it."""
        while (above := self._above.get(project_id, project_id)) != project_id:
            project_id = above
        return project_id

    def join(self, one: ProjectId, other: ProjectId) -> bool:
        """False where they were joined before."""
        leader, led = self.leader(one), self.leader(other)
        self._above[led] = leader
        return leader != led


def _joined(products: Collection[tuple[ProductId, ProjectId]]) -> _Parties:
    parties, first_of = _Parties(), dict[ProductId, ProjectId]()
    for product_id, project_id in products:
        parties.join(first_of.setdefault(product_id, project_id), project_id)
    return parties


def _of_one_remote(projects: Sequence[Project], remotes: Mapping[ProjectId, str]) -> Iterator[tuple[Project, Project]]:
    return _pairs((remotes[project.id], project) for project in projects if project.id in remotes)


def _of_one_folder(projects: Sequence[Project]) -> Iterator[tuple[Project, Project]]:
    in_folders = ((folder_and_name(project)[0], project) for project in projects)
    return ((one, other) for one, other in _pairs(in_folders) if _are_alike(one, other))


def _pairs(projects: Iterable[tuple[str, Project]]) -> Iterator[tuple[Project, Project]]:
    """Of each group those that came first, each with each."""
    groups: dict[str, list[Project]] = defaultdict(list)
    for name, project in projects:
        groups[name].append(project)
    return chain.from_iterable(combinations(group[:MOST_OF_GROUP], 2) for group in groups.values())


def _are_alike(one: Project, other: Project) -> bool:
    return is_like(folder_and_name(one)[1], folder_and_name(other)[1])


def _suggestion(one: Project, other: Project, remotes: Mapping[ProjectId, str]) -> SiblingSuggestion:
    first, second = (one, other) if one.id < other.id else (other, one)
    remote, folder = remotes.get(first.id), folder_and_name(first)[0]
    is_beside = folder == folder_and_name(second)[0]
    return SiblingSuggestion(
        first=first,
        second=second,
        remote=remote if remote == remotes.get(second.id) else None,
        folder=folder if is_beside and _are_alike(first, second) else None,
    )
