"""Git's name for a content, without asking Git."""

from __future__ import annotations

import hashlib


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
