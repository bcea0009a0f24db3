"""Who the session is, and in which project: AGENT_NAME, what the session registered, Git's word, else the window.

Git is not run, and the guard's reader of repositories is not imported: both take longer than a hook may. Sections that
are not written as `git config` writes them are left to the guard's reader.
"""

from __future__ import annotations

import json
import os
import re

from mcp_agent_mail.clients.hook.environment import NAME
from mcp_agent_mail.clients.hook.our_tools import REGISTERING, our_call
from mcp_agent_mail.core.git.ownership import believed_owners, is_owned_by, is_planted
from mcp_agent_mail.core.home_folder import home_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp_agent_mail.clients.contracts.reader import Contract
    from mcp_agent_mail.clients.hook.environment import HookSettings
    from mcp_agent_mail.clients.hook.payload import HookPayload

    # Any: what a tool answered.
    Json = Any

_MAX_CONFIG = 1024 * 1024
_MAX_POINTER = 16 * 1024
_MAX_LEVELS = 128
_MAX_PROJECT = 4_096
_MAX_LOOKED_AT = 400
_MAX_RESULT = 256 * 1024
_OUR_SECTION = re.compile(rb"(?im)^[ \t]*\[[ \t]*agent-mail[ \t]*\][ \t]*\r?$")
_MENTIONS = re.compile(rb"(?i)agent-mail[ \t]*[\]\"]")
# No repetition without an end stands beside another that takes the same: strangers write what is looked at.
_NAMED_IN_TEXT = re.compile(r"(?im)^[^\w\n]{0,20}name[^\w\n]{0,20}?[:|][^\w\n]{0,20}([A-Za-z][A-Za-z0-9_-]{0,63})\b")
_KEYS = ("name", "project")
_ODD = frozenset('"\\#;\r')
"""What `git config` writes in no value that we could read as it stands."""


class HookIdentity:
    """Who acts, and where. `agent` is None for nobody that is known; `folder` is where the session works."""

    __slots__ = ("agent", "folder", "project")

    def __init__(self, agent: str | None, project: str, folder: str) -> None:
        self.agent = agent
        self.project = project
        self.folder = folder


def find_hook_identity(
    settings: HookSettings, state: Mapping[str, Json], folder: str, environ: Mapping[str, str]
) -> HookIdentity:
    """By the order of precedence that the module names."""
    top, said = look_at_git(folder, environ)
    bound = known_name(state, "agent")
    agent = settings.agent or bound or _fit(said.get("name"))
    project = settings.project or said.get("project")
    if not project and bound is not None and agent == bound:
        project = _bound_project(state)
    project = project or top or folder
    return HookIdentity(agent, os.path.realpath(project) if project.startswith("/") else project, folder)


def known_name(state: Mapping[str, Json], key: str) -> str | None:
    """A name that can be an agent's; None for anything else that stands there."""
    return _fit(state.get(key))


def _bound_project(state: Mapping[str, Json]) -> str | None:
    project = state.get("project")
    return project if isinstance(project, str) and project and _is_usable(project) else None


def _fit(name: Json) -> str | None:
    return name if isinstance(name, str) and NAME.fullmatch(name) else None


# --- Git ---


def look_at_git(folder: str, environ: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    """The work tree around a folder, and what configurations say of us, the repository's before the user's. Of a
    repository that another user has made the work tree alone.
    """
    owners = believed_owners(environ)
    top, git = _find_git(folder, owners)
    home = home_folder(environ)
    users = [environ.get("XDG_CONFIG_HOME") or f"{home}/.config", f"{home}/.gitconfig"]
    files = [f"{users[0]}/git/config", users[1]]
    if environ.get("GIT_CONFIG_GLOBAL"):
        files = [environ["GIT_CONFIG_GLOBAL"]]
    common = (_pointer(f"{git}/commondir", git) or git) if git is not None else None
    own = [f"{common}/config", f"{git}/config.worktree"] if common and is_owned_by(owners, common) else []
    said: dict[str, str] = {}
    for file in (*files, *own):
        content = _read(file, _MAX_CONFIG, owners if file in own else None)
        if content is None or not _MENTIONS.search(content):
            continue
        found = _plain_section(content)
        if found is None:
            return top, _usable(_by_the_guard(folder, {**environ, "HOME": home}))
        said.update(found)
    return top, _usable(said)


def _usable(said: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in said.items() if _is_usable(value)}


def _is_usable(value: str) -> bool:
    """Can it be a name or a path? Resolving a path takes longer than it is long."""
    return len(value) <= _MAX_PROJECT and "\0" not in value


def _find_git(folder: str, owners: frozenset[int]) -> tuple[str | None, str | None]:
    """The work tree around a folder, and its Git directory, if that may be believed."""
    here = os.path.realpath(folder)
    for _ in range(_MAX_LEVELS):
        git = f"{here.rstrip('/')}/.git"
        is_folder = os.path.isdir(git)  # noqa: PTH112  # starts faster
        if (is_folder or os.path.isfile(git)) and not is_planted(owners, git):  # noqa: PTH113  # as above
            found = git if is_folder else _pointer(git, here, "gitdir:")
            is_believed = found is not None and is_owned_by(owners, git) and is_owned_by(owners, found)
            return here, found if is_believed else None
        above = os.path.dirname(here)  # noqa: PTH120  # as above
        if above == here:
            break
        here = above
    return None, None


def _pointer(file: str, start: str, word: str = "") -> str | None:
    content = _read(file, _MAX_POINTER)
    text = os.fsdecode(content or b"").strip()
    if not text.startswith(word) or not text:
        return None
    return os.path.join(start, text.removeprefix(word).strip())  # noqa: PTH118  # as above


def _plain_section(content: bytes) -> dict[str, str] | None:
    """What sections written by `git config` say; None where they are written in another way."""
    parts = _OUR_SECTION.split(content)
    if len(parts) != len(_MENTIONS.findall(content)) + 1:
        return None
    found = {}
    for part in parts[1:]:
        for line in os.fsdecode(part).split("\n"):
            if line.lstrip().startswith("["):
                break
            if not line.strip() or line.lstrip().startswith(("#", ";")):
                continue
            known = _plain_line(line)
            if known is not None:
                found[known[0]] = known[1]
            elif line.lstrip()[:4].lower() in ("name", "proj") or line.endswith("\\"):
                return None
    return {key: value for key, value in found.items() if value}


def _plain_line(line: str) -> tuple[str, str] | None:
    """Key and value, of a line as `git config` writes it; None for any other."""
    key, _, value = line.partition("=")
    key, value = key.strip(" \t").lower(), value.strip(" \t\r")
    return None if key not in _KEYS or "=" not in line or _ODD & set(value) else (key, value)


def _by_the_guard(folder: str, environ: Mapping[str, str]) -> dict[str, str]:
    # Slow, and only for sections that nobody's program writes.
    from mcp_agent_mail.core.errors import AgentMailError  # noqa: PLC0415
    from mcp_agent_mail.guard.git import GitRefused  # noqa: PLC0415
    from mcp_agent_mail.guard.repository import NAME_KEY, PROJECT_KEY, find_values  # noqa: PLC0415

    try:
        values = find_values(environ, folder)
    except (GitRefused, AgentMailError):
        return {}
    found = {"name": values.get(NAME_KEY), "project": values.get(PROJECT_KEY)}
    return {key: value for key, value in found.items() if value}


def _read(file: str, at_most: int, owners: frozenset[int] | None = None) -> bytes | None:
    """What a file holds that a stranger may have written; None for none, for one that is too long, and for one that
    belongs to none of `owners`.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if owners is not None and os.fstat(descriptor).st_uid not in owners:
                return None
            content = os.read(descriptor, at_most + 1)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    return content if len(content) <= at_most else None


# --- Registrations that pass by ---


def registered(contract: Contract, payload: HookPayload) -> tuple[str, list[str]] | None:
    """The name of an agent that the session has just registered as with our server, and what its project is called, by
    the answer and by the call; None for other calls.
    """
    tool, arguments = our_call(contract, payload)
    if tool not in REGISTERING:
        return None
    result = payload.result
    found = _Result(result)
    asked = _fit(arguments.get("name") or arguments.get("agent_name"))
    name = found.name or (asked if asked is not None and asked in found.names_in_text else None)
    if name is None:
        return None
    keys = [found.project, arguments.get("project_key"), arguments.get("human_key")]
    return name, [key for key in keys if isinstance(key, str) and key and _is_usable(key)]


def project_of_here(keys: list[str], settings: HookSettings, folder: str, environ: Mapping[str, str]) -> str | None:
    """Of what a project is called, the first that means where the session works; None where none does.

    Any server that a client knows by our name may answer, and some clients name none: so nobody's answer leads a
    session into another project. A folder below counts where it is of this very work tree: one that has another's,
    or none where we have none, is a project of its own.
    """
    said = look_at_git(folder, environ)[1]
    owners = believed_owners(environ)
    top, git = _find_git(folder, owners)
    named = [one for one in (settings.project, said.get("project")) if one]
    places = (top or folder, folder if git is None else None, _main_top(top, git, owners), *named)
    here = [os.path.realpath(one) for one in places if one and one.startswith("/")]
    for key in keys:
        if key in named:
            return key
        if key.startswith("/"):
            path = os.path.realpath(key)
            if path in here or (git is not None and _find_git(path, owners) == (top, git)):
                return key
        elif _is_slug_of(key, here):
            return key
    return None


def _main_top(top: str | None, git: str | None, owners: frozenset[int]) -> str | None:
    """The main work tree, seen from a linked one that it knows: a `.git` that a stranger wrote may lead to any."""
    common = _pointer(f"{git}/commondir", git) if git is not None else None
    back = _pointer(f"{git}/gitdir", git) if git is not None else None
    if common is None or back is None or not is_owned_by(owners, common):
        return None
    common = os.path.realpath(common)
    above, name = os.path.split(common)
    is_its = os.path.dirname(os.path.realpath(git or "")) == f"{common}/worktrees"  # noqa: PTH120  # as above
    knows_us = os.path.realpath(os.path.dirname(back)) == top  # noqa: PTH120  # as above
    return above if name == ".git" and is_its and knows_us else None


def _is_slug_of(key: str, paths: list[str]) -> bool:
    from mcp_agent_mail.domain.projects import slugs_of  # noqa: PLC0415  # at a registration alone

    return any(key in slugs_of(path) for path in paths)


class _Result:
    """What of a tool's result is looked at, however the client has wrapped it: JSON in text, in blocks, in objects."""

    def __init__(self, result: Json) -> None:
        self.name: str | None = None
        self.project: str | None = None
        self.names_in_text: set[str] = set()
        self._left = _MAX_LOOKED_AT
        self._look([result])

    def _look(self, waiting: list[Json]) -> None:
        """Breadth first: what stands outside comes before what stands within."""
        while waiting and self._left > 0:
            self._left -= 1
            value = waiting.pop(0)
            if isinstance(value, str) and len(value) <= _MAX_RESULT:
                try:
                    waiting.append(json.loads(value))
                except (ValueError, RecursionError):
                    self.names_in_text |= set(_NAMED_IN_TEXT.findall(value))
            elif isinstance(value, list):
                waiting += value[: self._left]
            elif isinstance(value, dict):
                if value.get("isError") or "error" in value:
                    return
                self._take(value)
                if self.name is not None:
                    return
                waiting += [value[key] for key in list(value)[: self._left]]

    def _take(self, value: dict[str, Json]) -> None:
        """A registered agent: `register_agent` gives it bare, a macro beside its project."""
        inner = value.get("agent")
        agent = inner if isinstance(inner, dict) else value
        name = _fit(agent.get("name"))
        if name is not None and "program" in agent and "model" in agent:
            self.name = name
            project = value.get("project")
            key = project.get("human_key") if isinstance(project, dict) else None
            self.project = key if isinstance(key, str) else None
