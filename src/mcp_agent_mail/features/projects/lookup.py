"""From what a caller calls a project to the project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from mcp_agent_mail.core.errors import Conflict, listed, suggest_call
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.plain_files import real_path
from mcp_agent_mail.domain.identity.names import did_you_mean, mistaken_for, nearest
from mcp_agent_mail.domain.project_identity import UID_LENGTH, project_of_derived, slug_alias, uid_tie
from mcp_agent_mail.domain.projects import Project, ProjectArchived, UnknownProject, canonical_path, is_path
from mcp_agent_mail.store.transaction import View

_NOTHING: Mapping[str, ProjectId | None] = MappingProxyType({})
_tied: ContextVar[Mapping[str, ProjectId | None]] = ContextVar("tied", default=_NOTHING)
_is_told_briefly: ContextVar[bool] = ContextVar("is_told_briefly", default=False)
_may_look: ContextVar[bool] = ContextVar("may_look", default=False)
_may_shorten: ContextVar[bool] = ContextVar("may_shorten", default=False)

_LOOKED_AT = 500
"""How many of the newest projects are looked at for "did you mean"."""
_PRESENT = 10
"""How many are named where none is near."""
_CANDIDATES = 100
"""How many of these are compared by likeness: paths are long, 100 take up to 10 ms."""
_CALLED = 1_000
"""How many of the newest are looked at for one that is called so."""
_SHOWN = 5
"""Of those that are called the same."""


class AmbiguousProject(Conflict):
    """Several projects are called so."""


def resolved_path(path: str) -> str:
    """The canonical path with symbolic links resolved as far as it exists on this disk."""
    canonical_path(path)
    return canonical_path(real_path(path.strip()))


def find_by_path(view: View, path: str) -> Project | None:
    """The project of a path: as written, else as a look at the disk before the call has said
    (`features/projects/path_resolution`).

    Unless `looking_at_disk`, nothing here looks itself: on the event loop, or in a unit of work, a dead mount would
    hold up everybody.
    """
    project = find_known_path(view, canonical_path(path))
    if project is None and _may_look.get():
        project = find_known_path(view, resolved_path(path))
    if project is None and (tied := _tied.get().get(path)) is not None:
        project = view.projects.find(tied)
    return project


def find_known_path(view: View, path: str) -> Project | None:
    """The project of a canonical path: its key, or another directory of it that is known."""
    return view.projects.find_by_human_key(path) or _find_by_alias(view, path)


def find_tied(view: View, tie: str) -> Project | None:
    """The project that directories of this identity belong to."""
    return _find_by_alias(view, tie) or _find_by_derived_uid(view, tie.removeprefix(uid_tie("")))


@contextmanager
def tied_to(path: str, project_id: ProjectId | None) -> Iterator[None]:
    """Inside, the path counts as the project's, or with None as nobody's; in units of work too."""
    reset = _tied.set({**_tied.get(), path: project_id})
    try:
        yield
    finally:
        _tied.reset(reset)


def is_looked_at(path: str) -> bool:
    """Whether the disk has been asked already whose this path is."""
    return path in _tied.get()


@contextmanager
def told_briefly() -> Iterator[None]:
    """Inside, an unknown path is refused without suggestions: the disk is asked first, and only then is a refusal
    worded.
    """
    reset = _is_told_briefly.set(True)
    try:
        yield
    finally:
        _is_told_briefly.reset(reset)


@contextmanager
def looking_at_disk() -> Iterator[None]:
    """Inside, paths are resolved by the disk at once: for commands that hold the store and make nobody else wait."""
    reset = _may_look.set(True)
    try:
        yield
    finally:
        _may_look.reset(reset)


@contextmanager
def called_by_people() -> Iterator[None]:
    """Inside, a project may be called as people see it, by the last part of its directory: for what people type.
    Agents say which by its directory.
    """
    reset = _may_shorten.set(True)
    try:
        yield
    finally:
        _may_shorten.reset(reset)


def find_project(view: View, key: str) -> Project | None:
    """The project of this path (any of its directories), slug (a former one too), uid, or plain slug while one project
    alone has it. Archived ones too.
    """
    wanted = key.strip()
    return find_by_path(view, wanted) if is_path(wanted) else _find_by_slug(view, wanted.lower())


def require_project(view: View, key: str) -> Project:
    """As `find_project`, and within `called_by_people` as `require_called`; raises UnknownProject with those that are
    near.
    """
    if _may_shorten.get():
        return require_called(view, key)
    project = find_project(view, key)
    if project is None:
        raise _unknown(view, key.strip())
    return project


def require_called(view: View, key: str) -> Project:
    """The project of this path or slug (a former one too); else the one that alone is called so: by its uid, its plain
    slug, or the name that people see. Raises UnknownProject, AmbiguousProject.

    A name may be taken by whoever makes a directory: it never goes before another's.
    """
    wanted = key.strip()
    exact = find_by_path(view, wanted) if is_path(wanted) else _find_by_whole_slug(view, wanted.lower())
    if exact is not None:
        return exact
    name = wanted.casefold()
    tied = find_project(view, wanted)
    candidates = [
        *([] if tied is None else [tied]),
        *(one for one in view.projects.newest(_CALLED, include_archived=True) if one.name.casefold() == name),
        *view.projects.find_by_plain_slug(name, limit=_SHOWN + 1),
    ]
    called = list({one.id: one for one in candidates}.values())
    if len(called) > 1:
        slugs = [one.slug for one in called]
        raise AmbiguousProject(
            f"{len(slugs)} projects are called {wanted:.100}.",
            hint=f"Write which: {listed(slugs[:_SHOWN])}.",
            data={"projects": slugs[:_SHOWN]},
        )
    if not called:
        raise _unknown(view, wanted)
    return called[0]


def require_writable(project: Project) -> Project:
    """`project`, unless it is archived: raises ProjectArchived."""
    if project.is_archived:
        raise ProjectArchived(
            f"The project {project.human_key} is archived: nothing can be written to it.",
            hint=f"unarchive_project(project_key={project.human_key!r}) brings it back.",
            data={
                "project": project.human_key,
                "suggested_tool_calls": [suggest_call("unarchive_project", {"project_key": project.human_key})],
            },
        )
    return project


def _find_by_slug(view: View, slug: str) -> Project | None:
    project = _find_by_whole_slug(view, slug) or find_tied(view, uid_tie(slug))
    if project is None:
        candidates = view.projects.find_by_plain_slug(slug, limit=2)
        project = candidates[0] if len(candidates) == 1 else None
    return project


def _find_by_whole_slug(view: View, slug: str) -> Project | None:
    """Of now, or a former one: no other project can be given it."""
    return view.projects.find_by_slug(slug) or _find_by_alias(view, slug_alias(slug))


def _find_by_alias(view: View, alias: str) -> Project | None:
    found = view.aliases.find(alias)
    return None if found is None else view.projects.find(found)


def _find_by_derived_uid(view: View, uid: str) -> Project | None:
    number = project_of_derived(view.meta.store_id(), uid) if len(uid) == UID_LENGTH else None
    return None if number is None else view.projects.find(ProjectId(number))


def find_around(view: View, path: str) -> str | None:
    """The key of the newest project's directory that a path is within, or is but for letter case; archived ones are
    none.
    """
    return _around(path, [project.human_key for project in view.projects.newest(_LOOKED_AT)])


def find_near(view: View, path: str) -> list[str]:
    """The keys of at most three projects that a path, which is none, may be a slip of."""
    return _nearest(path, view.projects.newest(_LOOKED_AT))


def find_slip(view: View, path: str) -> str | None:
    """The key beside a path that this may be a slip of: a letter or two wrong in its last part."""
    parent, _, name = path.rpartition("/")
    beside = [key.rpartition("/") for key in (project.human_key for project in view.projects.newest(_LOOKED_AT))]
    meant = mistaken_for(name, [last for folder, _, last in beside if folder == parent][:_CANDIDATES])
    return None if meant is None else f"{parent}/{meant}"


def _around(key: str, paths: Sequence[str]) -> str | None:
    wanted = f"{key.strip('/').lower()}/"
    around = [path for path in paths if wanted.startswith(f"{path.strip('/').lower()}/")]
    return max(around, key=len) if around else None


def _nearest(key: str, known: Sequence[Project]) -> list[str]:
    """The paths of at most three projects that were probably meant: the one whose directory this is within, or is but
    for letter case; else those whose directory has the same name, then those spelt like it. `known` are the newest
    first.
    """
    paths = [project.human_key for project in known]
    if around := _around(key, paths):
        return [around]
    last = key.strip("/").lower().rpartition("/")[2]
    namesakes = [path for path in paths if last and path.rpartition("/")[2].lower() == last]
    by_key = {project.human_key if is_path(key) else project.slug: project.human_key for project in known[:_CANDIDATES]}
    alike = [by_key[like] for like in nearest(key, by_key)]
    return list(dict.fromkeys([*namesakes, *alike]))[:3]


def _unknown(view: View, key: str) -> UnknownProject:
    """With the projects that share the plain slug, else those most like the key."""
    if is_path(key) and _is_told_briefly.get() and key not in _tied.get():
        return UnknownProject(
            f"Unknown project: {key:.300}.", data={"parameter": "project_key", "path": key}, refused=key
        )
    sharing = view.projects.find_by_plain_slug(key.lower(), limit=3)
    if sharing:
        keys = [project.human_key for project in sharing]
        return UnknownProject(
            f"{key!r:.200} names several projects.",
            hint=f"Use the path: {', '.join(keys)}.",
            data={"parameter": "project_key", "nearest": keys},
            refused=key,
        )
    known = view.projects.newest(_LOOKED_AT)
    close = _nearest(key, known)
    present = [] if close or is_path(key) else [project.human_key for project in known[:_PRESENT]]
    create = f"ensure_project(human_key={key!r:.300}) creates it." if is_path(key) else _told_present(present)
    return UnknownProject(
        f"Unknown project: {key:.300}.",
        hint=f"{did_you_mean(close)}{create}".strip(),
        data={
            "parameter": "project_key",
            "nearest": close,
            **({"path": key} if is_path(key) else {}),
            **({"present": present} if present else {}),
        },
        refused=key,
    )


def _told_present(keys: Sequence[str]) -> str:
    if not keys:
        return ""
    more = "The newest are" if len(keys) == _PRESENT else "There are" if keys[1:] else "There is"
    return f"{more} {listed(keys, 'and')}. It is the absolute path of your working directory."
