"""Projects: one per working directory, known by its absolute path (the human key) and a slug."""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass

MAX_PATH_LENGTH = 1_024

_SLUG_PARTS = 2
_SLUG_TEXT_LENGTH = 48
_SLUG_HASH_LENGTHS = (8, 16, 32, 64)
_SLUG_LENGTH = 85
_CONTROL = {"Cc", "Zl", "Zp", "Cs"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    id: ProjectId
    slug: str
    human_key: str
    created_ts: Micros
    archived_ts: Micros | None

    @property
    def is_archived(self) -> bool:
        return self.archived_ts is not None

    @property
    def name(self) -> str:
        """As people call it: the last part of its directory."""
        return project_name(self.human_key, self.slug)


def project_name(human_key: str, slug: str) -> str:
    """The last part of a project's directory."""
    return human_key.rstrip("/").rpartition("/")[2] or slug


ProjectPair = tuple[ProjectId, ProjectId]
"""Two projects, the one that was made first before the other."""


def pair_of(one: ProjectId, other: ProjectId) -> ProjectPair:
    return (one, other) if one < other else (other, one)


class AliasKind(StrEnum):
    PATH = "path"
    """A directory that an identity ties to the project."""

    TIE = "tie"
    """What ties directories: a uid, a remote, a repository."""

    FORMER = "former"
    """Of a project that was adopted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Another name of a project. Paths begin with `/`, the rest with what they are: `slug:`, `uid:`, `remote:` …"""

    name: str
    kind: AliasKind


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAlias(Alias):
    """An alias as the archive keeps it, with the time since when it has led to its project."""

    created_ts: Micros


class UnfitPath(InvalidInput):
    """The text is no absolute path that can name a project."""


class UnknownProject(NotFound):
    """No project has this key."""


class ProjectArchived(Conflict):
    """The project is archived: it can be read, not written."""


def is_path(key: str) -> bool:
    """A key that begins with `/` is a path, every other one a slug."""
    return key.lstrip().startswith("/")


def canonical_path(text: str) -> str:
    """The absolute path with `.`, `..`, repeated and trailing slashes resolved in the text alone.

    Symbolic links need a look at the disk: `features/projects` resolves them before it calls this.
    Raises UnfitPath for a relative path, control characters and more than 1,024 characters.
    """
    path = text.strip()
    if not path.startswith("/"):
        raise UnfitPath(
            f"{path!r:.200} is a relative path; a project is named by the absolute path of its directory.",
            hint="Send the absolute path of your working directory, as `pwd` prints it.",
            data={"parameter": "human_key"},
        )
    if len(path) > MAX_PATH_LENGTH:
        raise UnfitPath(
            f"The path has {len(path)} characters; at most {MAX_PATH_LENGTH} are accepted.",
            hint="Use a shorter path, for example through a symbolic link's target nearer to the root.",
            data={"max_length": MAX_PATH_LENGTH},
        )
    # Most paths are plain: their characters are not asked for one by one.
    is_plain = path.isascii() and path.isprintable()
    if not is_plain and any(unicodedata.category(character) in _CONTROL for character in path):
        raise UnfitPath("The path holds control characters.", hint="Send the path as `pwd` prints it.")
    return "/" + posixpath.normpath(path).lstrip("/")


def plain_slug(text: str) -> str:
    """Lower case, every run outside a-z and 0-9 one `-`, none at the ends. May be empty."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def is_slug(text: str) -> bool:
    """Can a project have this slug? Nothing else is the name of a project's folder."""
    return plain_slug(text) == text and 0 < len(text) <= _SLUG_LENGTH


def slugs_of(human_key: str) -> list[str]:
    """Slugs for a canonical path: the readable end of it and a hash of all of it, shortest hash first.

    The first one not taken is the project's: two paths never share one, and one path's
    candidates are always the same.
    """
    parts = human_key.strip("/").split("/")[-_SLUG_PARTS:]
    readable = plain_slug("/".join(parts))[-_SLUG_TEXT_LENGTH:].strip("-") or "project"
    digest = hashlib.sha256(human_key.encode("utf-8", "surrogatepass")).hexdigest()
    return [f"{readable}-{digest[:length]}" for length in _SLUG_HASH_LENGTHS]
