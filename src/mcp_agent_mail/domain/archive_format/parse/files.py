"""The inverse of rendering: from a file of an archive, by its path, what stands in it.

What is read is what rendering would write byte for byte, but for keys that it does not know: those a later version may
have added. So nothing is rebuilt that `verify` would not call its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.artifacts import (
    ArchivedAgent,
    ArchivedContact,
    ArchivedImport,
    ArchivedLease,
    ArchivedMail,
    ArchivedProductLink,
    ArchivedProject,
    ArchivedReceipts,
    Artifact,
)
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE
from mcp_agent_mail.domain.archive_format.parse.contacts import parse_contact, render_contact
from mcp_agent_mail.domain.archive_format.parse.fields import MAX_JSON_BYTES, Unfit
from mcp_agent_mail.domain.archive_format.parse.imports import import_unit_file, parse_import
from mcp_agent_mail.domain.archive_format.parse.leases import lease_file_of, parse_lease
from mcp_agent_mail.domain.archive_format.parse.mail import parse_mail, render_mail
from mcp_agent_mail.domain.archive_format.parse.overdue_notices import parse_overdue_notice, render_overdue_notice
from mcp_agent_mail.domain.archive_format.parse.products import link_file, parse_product
from mcp_agent_mail.domain.archive_format.parse.profile import agent_file, parse_profile
from mcp_agent_mail.domain.archive_format.parse.project import parse_project, project_file
from mcp_agent_mail.domain.archive_format.parse.receipts import parse_receipts, render_receipts
from mcp_agent_mail.domain.archive_format.versions import FORMAT_VERSION, OLDEST_VERSION
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.messages import MOST_BODY_BYTES

_RULES_BYTES = 1 << 10
"""What stands around front matter and body."""


class UnreadableArtifact(ValueError):
    """A file that lies where one of ours belongs, and is not what rendering makes."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def parse_file(path: str, content: bytes, version: int) -> Artifact | None:
    """What a file of an archive of this version says. None for what says nothing of its own: contents of attachments,
    threads, and whatever is not the archive's. Pure. Raises UnreadableArtifact, whatever the content is.
    """
    kind = _kind_of(path)
    if kind is None:
        return None
    if not OLDEST_VERSION <= version <= FORMAT_VERSION:
        raise UnreadableArtifact(path, f"version {version} is not known")
    require_size(path, len(content))
    try:
        return kind.parse(path, content, version)
    except (ValueError, OverflowError) as unfit:  # OverflowError: a time at the edge of the calendar.
        raise UnreadableArtifact(path, str(unfit)) from unfit


def most_bytes_of(path: str) -> int | None:
    """As large as the file at `path` may be: more than anything has that rendering makes. None for what is not read
    here.
    """
    kind = _kind_of(path)
    return None if kind is None else kind.most_bytes


def require_size(path: str, size: int) -> None:
    """Raise UnreadableArtifact for a file that is too large for what lies at `path`: to be asked before it is read."""
    most = most_bytes_of(path)
    if most is not None and size > most:
        raise UnreadableArtifact(path, f"{size:,} bytes are too many: such a file has at most {most:,}")


Parser = Callable[[str, bytes, int], Artifact]


@dataclass(frozen=True, slots=True)
class _Kind:
    place: re.Pattern[str]
    parse: Parser
    most_bytes: int = MAX_JSON_BYTES


_KINDS = (
    _Kind(
        re.compile(r"(?:messages/(?!threads/)|agents/[^/]+/(?:inbox|outbox)/).*\.md", re.DOTALL),
        parse_mail,
        most_bytes=MAX_JSON_BYTES + MOST_BODY_BYTES + _RULES_BYTES,
    ),
    _Kind(re.compile(r"agents/[^/]+/profile\.json"), lambda path, content, _: _parse_profile(path, content)),
    _Kind(
        re.compile(r"(?:agents/[^/]+/)?receipts/.*\.jsonl", re.DOTALL),
        lambda path, content, _: parse_receipts(path, content),
    ),
    _Kind(re.compile(r"agents/[^/]+/overdue/.*\.json", re.DOTALL), parse_overdue_notice),
    _Kind(re.compile(r"contacts/.*\.json", re.DOTALL), lambda path, content, _: parse_contact(path, content)),
    _Kind(re.compile(r"products/.*\.json", re.DOTALL), lambda path, content, _: parse_product(path, content)),
    _Kind(re.compile(r"imports/.*\.json", re.DOTALL), lambda path, content, _: parse_import(path, content)),
    _Kind(re.compile(r"file_reservations/.*\.json", re.DOTALL), lambda *of: parse_lease(LeaseKind.FILE, *of)),
    _Kind(re.compile(r"build_slots/.*\.json", re.DOTALL), lambda *of: parse_lease(LeaseKind.SLOT, *of)),
    _Kind(re.compile(re.escape(ARCHIVE_FILE)), lambda _, content, version: parse_project(content, version)),
)
"""By where a file lies, loosely: what lies among ours under a wrong name is wrong, not somebody else's."""


def _kind_of(path: str) -> _Kind | None:
    return next((kind for kind in _KINDS if kind.place.fullmatch(path)), None)


def _parse_profile(path: str, content: bytes) -> ArchivedAgent:
    agent = parse_profile(content)
    if agent_file(agent)[0] != path:
        raise Unfit("it does not lie in the folder of its agent")
    return agent


def render_artifact(artifact: Artifact, path: str, version: int) -> bytes:
    """The content that rendering gives the same values, without keys that it does not know. `path`: which copy of a
    mail. Raises ValueError for values that nothing is rendered of.
    """
    match artifact:
        case ArchivedProject():
            content = project_file(artifact)
        case ArchivedAgent():
            content = agent_file(artifact)[1]
        case ArchivedMail():
            content = render_mail(artifact, path, version)
        case ArchivedReceipts():
            content = render_receipts(artifact.receipts)
        case ArchivedContact():
            content = render_contact(artifact)
        case ArchivedLease():
            content = lease_file_of(artifact, version)[1]
        case ArchivedProductLink():
            content = link_file(artifact)[1]
        case ArchivedImport():
            content = import_unit_file(artifact)[1]
        case _:
            content = render_overdue_notice(artifact)
    return content
