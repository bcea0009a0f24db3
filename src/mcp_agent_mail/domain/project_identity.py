"""Which project a directory belongs to, beyond its own path: marks in files, the remote, the repository around it.

Pure: `workspace` gathers the facts, this decides. Whatever stands in a repository's files is data
from strangers: it may name a project, it never becomes a path, an argument or a statement.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from urllib.parse import urlsplit

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern

MARKER_FILE = ".agent-mail-project-id"
DISCOVERY_FILE = ".agent-mail.yaml"
PRIVATE_MARKER = "agent-mail-project-id"
"""In the Git common directory: shared by the work trees of one clone, never committed."""

DISCOVERY_KEYS = ("project_uid", "project_name", "product_uid", "product_name")

_UID = lazy_pattern(r"[a-z0-9][a-z0-9._-]{7,127}")
_ENTRY = lazy_pattern(r"([A-Za-z_][A-Za-z0-9_-]*)[ \t]*:[ \t]*(.*)")
_QUOTED = lazy_pattern(r"""(?:"([^"\\]*)"|'([^']*)')[ \t]*(?:#.*)?""")
_SCP = lazy_pattern(r"(?:[^@/:]*@)?(\[[0-9A-Fa-f:]+\]|[^/:\[\]]+):(?!//)(.+)")
_VALUE_LENGTH = 255
_REMOTE_LENGTH = 1_024
_DEFAULT_PORTS = {"ssh": 22, "git+ssh": 22, "https": 443, "http": 80, "git": 9418}
_DERIVED_PART = 16
UID_LENGTH = 2 * _DERIVED_PART
"""Of a derived uid."""


class IdentityMode(StrEnum):
    DIR = "dir"
    GIT_REMOTE = "git-remote"
    GIT_TOPLEVEL = "git-toplevel"
    GIT_COMMON_DIR = "git-common-dir"


class IdentitySource(StrEnum):
    """What said which project it is, strongest first."""

    MARKER = "marker"
    DISCOVERY = "discovery"
    PRIVATE_MARKER = "private-marker"
    REMOTE = "remote"
    DIRECTORY = "directory"


class UnfitMark(InvalidInput):
    """The text is no project uid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What files say: the nearest of each kind, from the directory up to the root of its repository."""

    committed: str | None = None
    discovery: Mapping[str, str] | None = None
    private: str | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryFacts:
    """What Git says of the repository around a directory."""

    root: str
    common_dir: str
    branch: str | None
    worktree: str | None
    ignore_case: bool
    remote: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFacts:
    """`is_missing`: the folder that it would lie in is on this disk, and it is no directory there."""

    path: str
    marks: Marks = field(default_factory=Marks)
    repository: RepositoryFacts | None = None
    is_missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`tie` is the alias under which every directory of the same identity finds the one project; None: its own path."""

    mode_used: IdentityMode
    source: IdentitySource
    canonical_path: str
    tie: str | None


def identify(facts: WorkspaceFacts, mode: IdentityMode) -> Identity:
    """Marks win over the mode. A mode that finds nothing to go by falls back: remote, repository, directory."""
    path = facts.path if facts.repository is None or mode is IdentityMode.DIR else facts.repository.root
    discovered = (facts.marks.discovery or {}).get("project_uid")
    marks = (
        (IdentitySource.MARKER, facts.marks.committed),
        (IdentitySource.DISCOVERY, discovered),
        (IdentitySource.PRIVATE_MARKER, facts.marks.private),
    )
    for source, uid in marks:
        if uid is not None:
            return Identity(mode_used=mode, source=source, canonical_path=path, tie=uid_tie(uid))
    if facts.repository is None or mode is IdentityMode.DIR:
        return Identity(
            mode_used=IdentityMode.DIR, source=IdentitySource.DIRECTORY, canonical_path=facts.path, tie=None
        )
    return _by_repository(facts.repository, mode)


def _by_repository(repository: RepositoryFacts, mode: IdentityMode) -> Identity:
    if mode is IdentityMode.GIT_REMOTE and repository.remote is not None:
        return Identity(
            mode_used=mode,
            source=IdentitySource.REMOTE,
            canonical_path=repository.root,
            tie=f"remote:{repository.remote}",
        )
    if mode is IdentityMode.GIT_TOPLEVEL:
        place, tie = repository.root, f"toplevel:{repository.root}"
    else:
        mode, place, tie = IdentityMode.GIT_COMMON_DIR, repository.common_dir, f"common:{repository.common_dir}"
    return Identity(mode_used=mode, source=IdentitySource.DIRECTORY, canonical_path=place, tie=tie)


def uid_tie(uid: str) -> str:
    return f"uid:{uid}"


def slug_alias(slug: str) -> str:
    """The alias under which a former slug leads to its project."""
    return f"slug:{slug}"


def derived_uid(store_id: str, project_id: int) -> str:
    """The uid of a project that no file has named: the same for good, another in every store, and found without a
    table.
    """
    return f"{_digest(store_id)}{project_id:0{_DERIVED_PART}x}"


def project_of_derived(store_id: str, uid: str) -> int | None:
    """Whose uid this is, if it was derived in this store."""
    if not re.fullmatch(r"[0-9a-f]{32}", uid) or not uid.startswith(_digest(store_id)):
        return None
    number = int(uid[_DERIVED_PART:], 16)
    return number if number < 2**63 else None


def _digest(store_id: str) -> str:
    return hashlib.sha256(f"project of {store_id}".encode()).hexdigest()[:_DERIVED_PART]


def require_uid(text: str) -> str:
    """8 to 128 letters, digits, `.`, `_`, `-`; case does not count. Raises UnfitMark."""
    uid = text.strip().lower()
    if not _UID.fullmatch(uid):
        raise UnfitMark(
            f"{text!r:.100} is no project uid.",
            hint="A uid has 8 to 128 letters, digits, `.`, `_` and `-`, and begins with a letter or digit.",
        )
    return uid


def read_marker(text: str) -> str:
    """The uid in a marker file: its one line that is neither blank nor a `#` comment. Raises UnfitMark."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
    return require_uid(lines[0] if len(lines) == 1 else text)


def write_marker(uid: str) -> str:
    return f"# This repository in MCP Agent Mail. Commit it: all clones and work trees are one project.\n{uid}\n"


def read_discovery(text: str) -> dict[str, str]:
    """The known keys of a discovery file. Of YAML it may use `key: value` lines at the left margin, plain or quoted,
    and comments; what else stands there is passed over. Raises UnfitMark for a `project_uid` that is none.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is None or entry[1] not in DISCOVERY_KEYS:
            continue
        value = _scalar(entry[2])
        if value and value.isprintable() and len(value) <= _VALUE_LENGTH:
            found[entry[1]] = value
    if "project_uid" in found:
        found["project_uid"] = require_uid(found["project_uid"])
    return found


def write_discovery(values: Mapping[str, str]) -> str:
    """The text of a discovery file with those of DISCOVERY_KEYS that `values` has, quoted. No value may hold a single
    quote, which `read_discovery` would not read back.
    """
    lines = [f"{key}: '{values[key]}'\n" for key in DISCOVERY_KEYS if key in values]
    return "# MCP Agent Mail: which project this repository is. See docs/concepts/project-identity.md.\n" + "".join(
        lines
    )


def _scalar(text: str) -> str:
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] if quoted[1] is not None else quoted[2]
    return re.split(r"(?:^|[ \t])#", text, maxsplit=1)[0].strip()


def normalized_remote(url: str) -> str | None:
    """`host/path` of a remote, the same for its ssh, scp and https forms, without credentials; None for a local one.

    The host's letter case does not count, the path's does.
    """
    text = url.strip()
    if not text or len(text) > _REMOTE_LENGTH or not text.isprintable() or " " in text:
        return None
    if "://" in text:
        return _of_url(text)
    scp = _SCP.fullmatch(text)
    return None if scp is None else _host_and_path(scp[1], scp[2])


def _of_url(text: str) -> str | None:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or parts.scheme.lower() not in _DEFAULT_PORTS:
        return None
    is_plain = port is None or port == _DEFAULT_PORTS[parts.scheme.lower()]
    return _host_and_path(host if is_plain else f"{host}:{port}", parts.path)


def _host_and_path(host: str, path: str) -> str | None:
    bare = re.sub(r"/{2,}", "/", path).strip("/").removesuffix(".git").rstrip("/")
    return f"{host.strip('[]').lower()}/{bare}" if bare else None
