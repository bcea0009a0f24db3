"""Where the guard stands: the repository, the project it means, and how paths of one are paths of the other."""

from __future__ import annotations

import os
from typing import NamedTuple

from mcp_agent_mail.core.client_settings import ClientSettings
from mcp_agent_mail.guard.git import Git, GitRefused, resolved, text_of

PROJECT_KEY = "agent-mail.project"
NAME_KEY = "agent-mail.name"

_KEYS = r"^(agent-mail\.(project|name)|(user|author)\.name)$"


class Repository(NamedTuple):
    """`top` is the work tree (None in a bare repository); `main_top` the main one, seen from a linked one."""

    top: str | None
    git_dir: str
    main_top: str | None
    config: dict[str, str]

    @property
    def place(self) -> str:
        return self.top or self.git_dir


def look_at_repository(git: Git, cwd: str) -> Repository:
    """Raises GitRefused outside a repository."""
    code, said, complaint = git.try_("rev-parse", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
    lines = said.split(b"\n")
    if len(lines) < 3 or (code != 0 and len(lines) != 3):
        told = complaint.decode("utf-8", "replace").strip()
        raise GitRefused(told or "this is no Git repository")
    git_dir, common_dir = (os.path.join(cwd, text_of(line)) for line in lines[:2])  # noqa: PTH118  # starts faster
    top = text_of(lines[2]) if code == 0 and lines[2] else None
    return Repository(
        top=resolved(top) if top is not None else None,
        git_dir=resolved(git_dir),
        main_top=_main_top(resolved(git_dir), resolved(common_dir)),
        config=_config(git),
    )


def _main_top(git_dir: str, common_dir: str) -> str | None:
    """The main work tree beside the common directory, seen from a linked worktree; None elsewhere, or if it is bare."""
    folder, name = os.path.split(common_dir)
    return folder if git_dir != common_dir and name == ".git" else None


def _config(git: Git) -> dict[str, str]:
    """Of several values the last counts: the repository's own before the user's."""
    code, said, complaint = git.try_("config", "-z", "--get-regexp", _KEYS)
    if code not in (0, 1):
        raise GitRefused(f"git config: {complaint.decode('utf-8', 'replace').strip()}")
    pairs = (entry.partition(b"\n") for entry in said.split(b"\0") if entry)
    return {text_of(key).lower(): text_of(value).strip() for key, _, value in pairs}


def project_of(repository: Repository, settings: ClientSettings) -> str:
    """AGENT_MAIL_PROJECT, else Git's `agent-mail.project`, else the top level. A path is resolved, a slug stays one."""
    named = settings.agent_mail_project or repository.config.get(PROJECT_KEY) or repository.place
    return resolved(named) if named.startswith("/") else named


class Translation(NamedTuple):
    """Paths of the repository as paths of the project.

    `inside` is the project's folder within the repository (`pkg/`), `above` the repository's folder
    within the project (`app/`); both are empty where they are one.
    """

    inside: str = ""
    above: str = ""

    def to_project(self, path: str) -> str | None:
        """None for a path outside the project: nobody can reserve it."""
        if self.inside:
            return path[len(self.inside) :] if path.startswith(self.inside) else None
        return self.above + path

    def to_repository(self, path: str) -> str:
        return self.inside + path if self.inside else path[len(self.above) :]


def translation_for(repository: Repository, project: str) -> Translation:
    """A project elsewhere (a slug, another clone's directory) means the same files by the same paths."""
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
