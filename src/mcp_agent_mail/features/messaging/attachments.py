"""What messages carry: who may send and who may read a content, and whether a project has room for it.

A content is read by whoever sees a message that carries it, whatever else carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from mcp_agent_mail.core.errors import NotFound, QuotaExceeded
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, find_digest, from_json, image_type, read_digest
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.identity.readership import READING_MAIL, require_reader
from mcp_agent_mail.domain.markdown_images import may_show_images
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.attachments.requests import AttachmentRequest
from mcp_agent_mail.features.attachments.results import ImageLeft, PreparedAttachments, WhyLeft
from mcp_agent_mail.features.attachments.service import MessageStore
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.messaging.requests import ReplyRequest, SendRequest
from mcp_agent_mail.features.messaging.send import Draft
from mcp_agent_mail.features.messaging.visibility import is_visible_from, is_visible_to
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.attachments import Carrier
from mcp_agent_mail.store.transaction import Tx, View

Prepare = Callable[[AttachmentRequest, MessageStore], AbstractAsyncContextManager[PreparedAttachments]]
"""Makes ready what a message is to carry, before the unit of work that stores it: contents are on disk inside."""


class UnknownAttachment(NotFound):
    """No message that the caller may see carries a content of this digest."""


class AttachmentsFull(QuotaExceeded):
    """A project would keep more than QUOTA_ATTACHMENTS_LIMIT_BYTES of what its mail carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAttachment:
    """A content as one message that the reader sees carries it: what it is called there, and its media type."""

    content: StoredContent
    name: str
    media_type: str

    @property
    def is_image(self) -> bool:
        """A raster image by its own first bytes: browsers show it without running anything."""
        return image_type(self.content.extension) is not None


class MailStore:
    """The store, as what keeps contents for mail needs it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.require_room = store.growth.require

    async def find_carried(self, digests: Collection[str]) -> Collection[str]:
        """Those that a message carries by now."""
        return await self._store.read(lambda view: set(filter(view.attachments.is_carried, digests)))


def brings_attachments(request: SendRequest | ReplyRequest) -> bool:
    """Whether anything may have to be made ready before the message is stored: files, or images of the body."""
    if request.attachment_paths:
        return True
    converts = not isinstance(request, SendRequest) or request.convert_images is not False
    return converts and may_show_images(request.body_md)


def carry(tx: Tx, draft: Draft, brought: PreparedAttachments, limit_bytes: int) -> tuple[Draft, tuple[ImageLeft, ...]]:
    """The draft with what was made ready for it and what its body quotes, each content once; and those quoted images
    that the sender may not read. Raises UnknownAttachment for a digest that was asked for and may not be read, and
    AttachmentsFull; `limit_bytes` 0 is no limit.
    """
    carried: dict[str, Attachment] = {}
    for item in brought.items:
        one = _find_for_sender(tx, draft.sender, item) if isinstance(item, str) else item
        carried.setdefault(one.content.sha256, one)
    unreadable = []
    for target in brought.quoted:
        quoted = _find_quoted(tx, draft.sender, target)
        if quoted is None:
            unreadable.append(ImageLeft(target=target, reason=WhyLeft.UNREADABLE))
        else:
            carried.setdefault(quoted.content.sha256, quoted)
    draft = replace(draft, new=replace(draft.new, body_md=brought.body_md, attachments=tuple(carried.values())))
    _require_room(tx, draft, limit_bytes)
    return draft, tuple(unreadable)


def _find_quoted(view: View, sender: Actor, target: str) -> Attachment | None:
    """What a body shows by its address in archives; None for what the sender may not read, or that lies elsewhere."""
    path = target.removeprefix("/")
    try:
        found = _find_for_sender(view, sender, find_digest(path) or "")
    except UnknownAttachment:
        return None
    return found if found.content.path == path else None


def require_named(view: View, sender: Actor, paths: Sequence[str]) -> None:
    """Return where the sender may read all that the paths name by a digest. Raises UnknownAttachment."""
    for path in paths:
        if (sha256 := read_digest(path)) is not None:
            _find_for_sender(view, sender, sha256)


def contents_by_digest(view: View, sender: Actor, brought: PreparedAttachments) -> list[StoredContent]:
    """Those that are to be carried again, as mail has them that the sender may read. Raises UnknownAttachment."""
    return [_find_for_sender(view, sender, item).content for item in brought.items if isinstance(item, str)]


def _find_for_sender(view: View, sender: Actor, sha256: str) -> Attachment:
    of_project = view.attachments.newest_open(sha256, sender.project.id)
    of_agent = view.attachments.newest_of_party(sha256, sender.agent.id)
    for carrier in sorted(filter(None, (of_project, of_agent)), key=lambda carrier: carrier.id, reverse=True):
        if is_visible_to(view, carrier, sender.agent):
            found = _as_attachment(carrier, sha256)
            never_inline = sender.agent.attachments_policy is AttachmentsPolicy.FILE
            return replace(found, is_inline=False) if never_inline else found
    raise unknown_attachment(sha256)


def _as_attachment(carrier: Carrier, sha256: str) -> Attachment:
    """As the message has it; what is an original there stands for itself."""
    attachments = from_json(carrier.attachments)
    for one in attachments:
        if one.content.sha256 == sha256:
            return one
    seen = _as_seen(attachments, sha256)
    return Attachment(content=seen.content, name=seen.name, media_type=seen.media_type)


def _as_seen(attachments: Sequence[Attachment], sha256: str) -> SeenAttachment:
    one, content = next((one, content) for one in attachments for content in one.contents if content.sha256 == sha256)
    is_original = content is one.original
    media_type = (image_type(content.extension) if is_original else None) or one.media_type
    return SeenAttachment(content=content, name=one.name, media_type=media_type)


def _require_room(tx: Tx, draft: Draft, limit_bytes: int) -> None:
    """Of the sender's project, and of each where it arrives now: what is held counts once it is let in."""
    if limit_bytes <= 0 or not draft.chosen or draft.eligible == 0:
        return
    reached = {one.project.id: one.project for one in draft.chosen if one.held_code is None}
    for project in {draft.sender.project.id: draft.sender.project, **reached}.values():
        more = tx.attachments.new_bytes(project.id, draft.new.attachments)
        if more and tx.attachments.kept_bytes(project.id) + more > limit_bytes:
            raise AttachmentsFull(
                f"The mail of {project.human_key} has no room for {more} bytes more; nothing was sent.",
                hint="Say in which file it stands. The operator may raise QUOTA_ATTACHMENTS_LIMIT_BYTES or purge old "
                "mail.",
                data={"project": project.human_key, "bytes": more, "limit": limit_bytes},
            )


def find_readable(view: View, caller: Caller, sha256: str, project_key: str | None) -> SeenAttachment:
    """The content as a message carries it that the caller sees from the project named, else from its own, else from the
    sender's. Raises UnknownAttachment, in the same words whether there is such a content or not.
    """
    require_reader(caller, READING_MAIL)
    named = None if project_key is None else require_project(view, project_key)
    home = caller.project_id if caller.kind is CallerKind.AGENT else None
    project = named or (None if home is None else view.projects.find(home))
    for carrier in _candidates(view, caller, sha256, project):
        seen_from = project or view.projects.find(carrier.project_id)
        if seen_from is not None and is_visible_from(view, caller, carrier, seen_from):
            return _as_seen(from_json(carrier.attachments), sha256)
    raise unknown_attachment(sha256)


def _candidates(view: View, caller: Caller, sha256: str, project: Project | None) -> list[Carrier]:
    """Of each way in which the caller may see a message that carries the content, one such message."""
    if caller.is_operator:
        found = [view.attachments.newest(sha256)]
    elif project is None:
        found = [view.attachments.any_open(sha256)]
    else:
        found = [view.attachments.newest_open(sha256, project.id), _of_party(view, sha256, caller.agent_id)]
    return sorted(filter(None, found), key=lambda carrier: carrier.id, reverse=True)


def _of_party(view: View, sha256: str, agent_id: AgentId | None) -> Carrier | None:
    return None if agent_id is None else view.attachments.newest_of_party(sha256, agent_id)


def unknown_attachment(sha256: str) -> UnknownAttachment:
    """The refusal, in the same words for a content that is not there and one that the caller may not see."""
    return UnknownAttachment(
        f"No attachment {sha256:.64} is to be seen here.",
        hint="Copy the sha256 of an attachment of a message that you can read.",
        data={"sha256": sha256[:64]},
    )
