"""The settings of what messages carry: files and images. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row

ATTACHMENT_ROWS = (
    Row(
        name="CONVERT_IMAGES",
        kind=kinds.BOOL,
        default="true",
        does="Convert images to WebP, and those that a body shows too, where neither a call (`convert_images`) nor its "
        "sender's policy says.",
        group="Attachments",
    ),
    Row(
        name="KEEP_ORIGINAL_IMAGES",
        kind=kinds.BOOL,
        default="false",
        does="Keep what a converted image was before, beside it.",
        group="Attachments",
    ),
    Row(
        name="INLINE_IMAGE_MAX_BYTES",
        kind=kinds.size("0", "1MiB"),
        default="65536",
        does="A converted image of at most so many bytes is given with the message's body; 0 gives none.",
        group="Attachments",
    ),
    Row(
        name="ATTACHMENT_MAX_BYTES",
        kind=kinds.size("1KiB", "1GiB"),
        default="20MiB",
        does="The largest attachment; a larger one is INVALID_INPUT.",
        group="Attachments",
    ),
    Row(
        name="IMAGE_MAX_PIXELS",
        kind=kinds.whole(10_000, 1_000_000_000),
        default="40000000",
        does="The most pixels of an image that is converted, its frames together; beyond it is INVALID_INPUT.",
        group="Attachments",
    ),
    Row(
        name="ALLOW_ABSOLUTE_ATTACHMENT_PATHS",
        kind=kinds.BOOL,
        default="false",
        does="Let agents attach files outside of their project's directory: any that the server can read, but for its "
        "own and Git's.",
        group="Attachments",
    ),
)
