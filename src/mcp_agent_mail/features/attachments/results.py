"""What is ready to be carried by a message."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.attachments import Attachment


class WhyLeft(StrEnum):
    """Why an image of a body stays as it was written."""

    REMOTE = "remote"
    """On another machine: a URL."""

    BY_DIGEST = "by_digest"
    """`sha256:…`: an attachment is named in `attachment_paths`, and shown by the address that bodies have."""

    MISSING = "missing"
    """No file of the project's directory or archive."""

    FORBIDDEN = "forbidden"
    """A path that is not lent to this caller, whether anything lies there or not."""

    NO_IMAGE = "no_image"
    """Not, by its first bytes, an image that can be converted."""

    UNREADABLE = "unreadable"
    """The address of an attachment that the sender may not read, whether there is one or not."""

    TOO_MANY = "too_many"
    """An attachment that is quoted, and more than one message carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLeft:
    """An image of the body that stays as it was written, and why. Of a long target its beginning."""

    target: str
    reason: WhyLeft


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedAttachments:
    """`items` in the order asked for; a str is a digest that was asked for by `sha256:`, which the unit of work that
    stores the message looks up. The contents of all others are on disk. `quoted`: targets of the body that are
    attachments already, which that unit of work attaches where the sender may read them.
    """

    items: tuple[Attachment | str, ...]
    body_md: str
    images_left: tuple[ImageLeft, ...] = ()
    quoted: tuple[str, ...] = ()
