"""Decides what of mail may be given away: an allow-list of fields, of mail that every agent of a project may read."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count

from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.ids import MOST_NUMBER, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.attachments import Attachment, StoredContent
from mcp_agent_mail.domain.messages import Addressee, MessageHead, RecipientKind, attachments_of
from mcp_agent_mail.domain.projects import Project, plain_slug
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.features.sharing.redaction import Redactor
from mcp_agent_mail.features.sharing.results import (
    SharedAgent,
    SharedAttachment,
    SharedContent,
    SharedMail,
    SharedMessage,
    SharedPreset,
    SharedProject,
)
from mcp_agent_mail.store.transaction import View

MOST_PROJECTS = 50
MOST_MESSAGES = 100_000
"""Of all projects together."""
MOST_AGENTS = 5_000
"""Of one project."""
MOST_CONTENT_BYTES = 32 << 20
"""A longer attachment is named and left out."""
_KNOWN_PROJECTS = 10_000
_BATCH = 500
_RASTER = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_SLUG_LENGTH = 40
RESERVED_NAMES = frozenset({"assets", "search", "attachments"})
"""Folders of a bundle that are no project's."""
_ANOTHER = "another-project"
_PRINTABLE = re.compile(rb"[\x20-\x7e]{8,}")

_HIDDEN_INSIDE = "it holds what looks like a secret"


class TooMuchToShare(InvalidInput):
    """More mail, or more projects, than one bundle holds."""


class NothingToShare(NotFound):
    """No mail that may be given away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRequest:
    """Projects by path or slug; of their mail that of these threads, or all without any."""

    project_keys: Sequence[str]
    threads: Sequence[str] = ()
    preset: SharedPreset = SharedPreset.STANDARD


@dataclass(slots=True)
class _Found:
    """Of one project, oldest first, with whom each message came to."""

    project: Project
    slug: str
    heads: list[MessageHead]
    addressees: dict[MessageId, list[Addressee]]


class SharingService:
    """Over one unchanging view of the store. `contents` are the attachments that lie beside it."""

    def __init__(self, view: View, contents: Contents) -> None:
        self._view = view
        self._contents = contents
        self.redactor = self._redactor({})

    def collect(self, request: ShareRequest) -> SharedMail:
        """What is given away, without bodies and contents. Raises UnknownProject, TooMuchToShare, NothingToShare."""
        if len(request.project_keys) > MOST_PROJECTS:
            raise TooMuchToShare(
                f"{len(request.project_keys)} projects are more than the {MOST_PROJECTS} of one bundle.",
                hint="Make several bundles.",
            )
        projects = {one.id: one for one in (require_project(self._view, key) for key in request.project_keys)}
        slugs = _own_slugs(projects.values())
        self.redactor = self._redactor(projects)
        found = []
        room = MOST_MESSAGES
        for project in projects.values():
            heads, addressees = self._shown(project, request.threads, room)
            room -= len(heads)
            found.append(_Found(project, slugs[project.id], heads, addressees))
        if room == MOST_MESSAGES:
            raise _nothing(request)
        return SharedMail(preset=request.preset, projects=[self._shared(one, request.preset) for one in found])

    def written_body(self, message_id: MessageId) -> str:
        """The body of a message of `collect` as it was written. Not redacted: what of it is seen, and so what is a
        secret, shows only once Markdown was read. Whoever shows it redacts it by `redactor`.
        """
        return self._view.messages.bodies([message_id]).get(message_id, "")

    def content(self, one: SharedAttachment) -> SharedContent:
        """What of an attachment of `collect` is given away: images and text. What may hold secrets that cannot be
        taken out is left.
        """
        if one.bytes > MOST_CONTENT_BYTES:
            return SharedContent(why_left=f"it is larger than {MOST_CONTENT_BYTES >> 20} MiB")
        content = self._read(StoredContent(sha256=one.sha256, bytes=one.bytes, extension=""))
        if content is None:
            return SharedContent(why_left="its content is not in the store")
        if one.media_type in _RASTER:
            if self.redactor.finds(b"\n".join(_PRINTABLE.findall(content)).decode("ascii")):
                return SharedContent(why_left=_HIDDEN_INSIDE)
            return SharedContent(content=content, extension=_RASTER[one.media_type], is_image=True)
        with suppress(UnicodeDecodeError):
            text = content.decode("utf-8")
            if "\0" not in text:
                # As text, whatever it is: no server gives it to a browser as a page.
                return SharedContent(content=self.redactor.text(text).encode(), extension="txt")
        return SharedContent(why_left="secrets could hide in a file of its kind")

    def _redactor(self, given: Collection[ProjectId]) -> Redactor:
        """Of projects that are not given away nothing is told, but that there is one."""
        known = self._view.projects.list_(include_archived=True, limit=_KNOWN_PROJECTS)
        names = {one.id: _name_of(one) if one.id in given else _ANOTHER for one in known}
        return Redactor(
            {one.human_key: names[one.id] for one in known},
            {one.slug: names[one.id] for one in known},
        )

    def _read(self, stored: StoredContent) -> bytes | None:
        pieces: list[bytes] = []
        return b"".join(pieces) if self._contents.tell(stored, pieces.append) else None

    def _shown(
        self, project: Project, threads: Sequence[str], room: int
    ) -> tuple[list[MessageHead], dict[MessageId, list[Addressee]]]:
        heads: list[MessageHead] = []
        addressees: dict[MessageId, list[Addressee]] = {}
        for batch in self._batches(project.id, threads):
            for head, those in self._allowed(batch):
                if len(heads) == room:
                    raise TooMuchToShare(
                        f"There are more than the {MOST_MESSAGES:,} messages of one bundle.",
                        hint="Take fewer projects, or threads by --thread.",
                    )
                heads.append(head)
                addressees[head.id] = those
        heads.sort(key=lambda head: head.id)
        return heads, addressees

    def _batches(self, project_id: ProjectId, threads: Sequence[str]) -> Iterator[list[MessageHead]]:
        if not threads:
            before = MessageId(MOST_NUMBER)
            while batch := self._view.all_mail.open_to(project_id, before=before, limit=_BATCH):
                yield batch
                before = batch[-1].id
        seen: set[MessageId] = set()
        for thread in threads:
            heads = self._view.thread_messages.list_(project_id, thread, limit=MOST_MESSAGES + 1)
            own = [head for head in heads if not head.is_system and head.id not in seen]
            # What one thread is named by may be in another.
            seen.update(head.id for head in own)
            yield from (own[at : at + _BATCH] for at in range(0, len(own), _BATCH))

    def _allowed(self, heads: Sequence[MessageHead]) -> Iterator[tuple[MessageHead, list[Addressee]]]:
        """Those that came to somebody openly and have their text, with whom they came to so. What was withdrawn is no
        project's mail, whoever had read it.
        """
        for head in heads:
            # One by one: a broadcast has thousands.
            those = self._view.messages.addressees([head.id]).get(head.id, [])
            seen = [one for one in those if one.kind != RecipientKind.BCC and one.state == "delivered"]
            if seen and self._view.messages.purged_ts(head.id) is None:
                yield head, seen

    def _shared(self, found: _Found, preset: SharedPreset) -> SharedProject:
        ids = {head.id for head in found.heads}
        messages = [
            self._message(head, found.addressees[head.id], ids, found.slug, preset=preset) for head in found.heads
        ]
        names = {name for one in messages for name in (one.sender, *one.to, *one.cc)}
        known = self._view.agents.list_(found.project.id, include_retired=True, limit=MOST_AGENTS)
        agents = (self._agent(one) for one in known)
        return SharedProject(
            slug=found.slug,
            name=self.redactor.text(_name_of(found.project)),
            agents=sorted((one for one in agents if one.name in names), key=lambda one: one.name),
            messages=messages,
        )

    def _agent(self, agent: Agent) -> SharedAgent:
        text = self.redactor.text
        return SharedAgent(
            name=text(agent.name),
            program=text(agent.program),
            model=text(agent.model),
            task=text(agent.task_description),
        )

    def _message(
        self,
        head: MessageHead,
        addressees: Sequence[Addressee],
        given: set[MessageId],
        slug: str,
        *,
        preset: SharedPreset,
    ) -> SharedMessage:
        text = self.redactor.text
        attachments = () if preset is SharedPreset.STRICT else attachments_of(head)
        return SharedMessage(
            id=head.id,
            project=slug,
            sender=text(head.sender_name),
            to=[text(one.name) for one in addressees if one.kind == RecipientKind.TO],
            cc=[text(one.name) for one in addressees if one.kind == RecipientKind.CC],
            subject=text(head.subject),
            importance=str(head.importance),
            asks_ack=bool(head.ack_required),
            thread=None if head.thread_id is None else text(head.thread_id),
            topic=None if head.topic is None else text(head.topic),
            created_ts=head.created_ts,
            reply_to=head.reply_to if head.reply_to in given else None,
            attachments=[self._attachment(one) for one in attachments],
        )

    def _attachment(self, one: Attachment) -> SharedAttachment:
        return SharedAttachment(
            sha256=one.content.sha256,
            name=self.redactor.text(one.name),
            media_type=one.media_type,
            bytes=one.content.bytes,
            width=one.width,
            height=one.height,
        )


def _nothing(request: ShareRequest) -> NothingToShare:
    which = "These threads have" if request.threads else "There is"
    listing = "threads" if request.threads else "inbox"
    projects = [f"am mail {listing} --project {shlex.quote(key)}" for key in request.project_keys]
    return NothingToShare(
        f"{which} no mail that may be given away.",
        hint=f"Blind copies, held, withdrawn and private mail never are. See what there is: {', '.join(projects[:3])}",
    )


def _name_of(project: Project) -> str:
    """The last part of its directory: no path."""
    return project.human_key.rstrip("/").rpartition("/")[2] or "project"


def _own_slugs(projects: Iterable[Project]) -> dict[ProjectId, str]:
    """Each its own, made of the name alone: the slugs of the store tell of the path."""
    slugs: dict[ProjectId, str] = {}
    for project in projects:
        plain = plain_slug(_name_of(project))[:_SLUG_LENGTH].strip("-") or "project"
        numbered = (f"{plain}-{number}" for number in count(2))
        taken = {*slugs.values(), *RESERVED_NAMES}
        slugs[project.id] = plain if plain not in taken else next(one for one in numbered if one not in taken)
    return slugs
