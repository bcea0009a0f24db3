"""Where the guard stands: the repository, the project it means, and how paths of one are paths of the other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from mcp_agent_mail.core.git.config import Entry
from mcp_agent_mail.core.git.foreign_repository import ForeignRepository, find_repository, repository_of
from mcp_agent_mail.core.git.ownership import believed_owners, is_owned_by
from mcp_agent_mail.guard.git import COMMAND_LINE_SETTINGS, Git, GitRefused, open_git, resolved, text_of

PROJECT_KEY = "agent-mail.project"
NAME_KEY = "agent-mail.name"

_KEYS = r"^(agent-mail\.(project|name)|(user|author)\.name)$"


def name_command(name: str) -> str:
    """The line for a shell that says who commits in the work tree where one stands, and in no other."""
    return f"git config extensions.worktreeConfig true && git config --worktree {NAME_KEY} {name}"


class CheckoutLayout(NamedTuple):
    """`top` is the work tree (None in a bare repository); `main_top` the main one, seen from a linked one."""

    top: str | None
    git_dir: str
    main_top: str | None
    foreign: ForeignRepository

    @property
    def place(self) -> str:
        return self.top or self.git_dir


def look_at_repository(environ: Mapping[str, str], cwd: str, *, is_gits: bool = False) -> CheckoutLayout:
    """The one that Git's own GIT_DIR names to a hook, else the one around `cwd`. No Git is run. `is_gits`: Git works in
    it, and has asked itself whose it is; else one of another user says nothing of project and names.

    Raises GitRefused outside a repository, and UnfitRepository.
    """
    named = environ.get("GIT_DIR")
    found = find_repository(cwd) if not named else repository_of(named, environ.get("GIT_WORK_TREE"), cwd)
    if found is None:
        raise GitRefused("not a git repository (or any of the parent directories): .git")
    if not (is_gits or named or _is_believed(found, believed_owners(environ))):
        found = _without_words(found)
    return CheckoutLayout(
        top=found.top, git_dir=found.git_dir, main_top=_main_top(found.git_dir, found.common_dir), foreign=found
    )


def _main_top(git_dir: str, common_dir: str) -> str | None:
    """The main work tree beside the common directory, seen from a linked worktree; None elsewhere, or if it is bare."""
    folder, name = os.path.split(common_dir)
    return folder if git_dir != common_dir and name == ".git" else None


def _is_believed(found: ForeignRepository, owners: frozenset[int]) -> bool:
    places = [found.git_dir, found.common_dir, *([f"{found.top}/.git"] if found.top else [])]
    places += [f"{found.common_dir}/config", f"{found.git_dir}/config.worktree"]
    return all(is_owned_by(owners, place) for place in places if os.path.lexists(place))


def _without_words(found: ForeignRepository) -> ForeignRepository:
    """How to read its objects stays, and where it lies: who commits, in which project and which work tree does not."""
    top = found.top
    if found.value("core.worktree") is not None:
        above, name = os.path.split(found.git_dir)
        top = above if name == ".git" else None
    return replace(found, top=top, own=_plain(found.own), of_work_tree=_plain(found.of_work_tree))


def _plain(entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if not entry[0].startswith(("agent-mail.", "user.", "author."))]


def own_value(repository: CheckoutLayout, environ: Mapping[str, str], key: str) -> str | None:
    """The value in the repository's own configuration; None where `git -c` gives settings, which come before it."""
    if any(environ.get(name) for name in COMMAND_LINE_SETTINGS):
        return None
    value = repository.foreign.value(key)
    return value.strip() if value is not None else None


def values_for(git: Git) -> dict[str, str]:
    """By key, what Git's configuration says of who commits and in which project: the command line's value comes before
    the repository's, and that before the user's. Conditional includes of the user's apply as for a temporary directory.
    """
    code, said, complaint = git.try_as_committer("config", "-z", "--get-regexp", _KEYS)
    if code not in (0, 1):
        raise GitRefused(f"git config: {complaint.decode('utf-8', 'replace').strip()}")
    pairs = (entry.partition(b"\n") for entry in said.split(b"\0") if entry)
    return {text_of(key).lower(): text_of(value).strip() for key, _, value in pairs}


def find_values(environ: Mapping[str, str], cwd: str) -> dict[str, str]:
    """`values_for` where we stand. Raises GitRefused outside a repository, and UnfitRepository."""
    repository = look_at_repository(environ, cwd)
    with open_git(environ, repository.foreign, cwd) as git:
        return values_for(git)


def project_of(repository: CheckoutLayout, named: str | None) -> str:
    """`named` (AGENT_MAIL_PROJECT, else Git's `agent-mail.project`), else the top level.

    A path is resolved, a slug stays one.
    """
    project = named or repository.place
    return resolved(project) if project.startswith("/") else project


class Translation(NamedTuple):
    """Paths of the repository as paths of the project.

    `inside` is the project's folder within the repository (`pkg/`), `above` the repository's folder
    within the project (`app/`); both are empty where they are one.
    """

    inside: str = ""
    above: str = ""

    def to_project(self, path: str) -> str | None:
        """The path within the project; None for one outside of it, where nobody can reserve anything."""
        if self.inside:
            return path[len(self.inside) :] if path.startswith(self.inside) else None
        return self.above + path

    def to_repository(self, path: str) -> str:
        return self.inside + path if self.inside else path[len(self.above) :]


def translation_for(repository: CheckoutLayout, project: str) -> Translation:
    """How paths of the repository become paths of the project. A project elsewhere (a slug, another clone's directory)
    has the same files under the same paths.
    """
    roots = [root for root in (repository.main_top, repository.top) if root is not None]
    if not project.startswith("/") or project in roots:
        return Translation()
    for root in roots:
        if project.startswith(f"{root}/"):
            return Translation(inside=f"{project[len(root) + 1 :]}/")
    for root in roots:
        if root.startswith(f"{project.rstrip('/')}/"):
            return Translation(above=f"{root[len(project.rstrip('/')) + 1 :]}/")
    return Translation()
