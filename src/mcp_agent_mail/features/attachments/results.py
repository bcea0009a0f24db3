"""What is ready to be carried by a message."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.domain.attachments import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLeft:
    """An image of the body that stays as it was written, and why."""

    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedAttachments:
    """`items` in the order asked for; a str is a digest that was asked for by `sha256:`, which the unit of work that
    stores the message looks up. The contents of all others are on disk.
    """

    items: tuple[Attachment | str, ...]
    body_md: str
    images_left: tuple[ImageLeft, ...] = ()
