"""Whose a repository is. What another user has put there says nothing of us, as Git takes no word of it either."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def believed_owners(environ: Mapping[str, str]) -> frozenset[int]:
    """We ourselves, root, and for root whoever became it by sudo."""
    us = os.geteuid()
    sudo = environ.get("SUDO_UID", "") if us == 0 else ""
    return frozenset((us, 0, *([int(sudo)] if sudo.isascii() and sudo.isdigit() and len(sudo) < 11 else [])))


def is_owned_by(owners: frozenset[int], path: str) -> bool:
    """Does what lies there belong to one of these, and what it leads to, if it is a link, as well?"""
    try:
        return {os.lstat(path).st_uid, os.stat(path).st_uid} <= owners
    except OSError:
        return False


def is_planted(owners: frozenset[int], path: str) -> bool:
    """Is it in somebody else's folder? In one that all may write to, `/tmp`, anybody can put a `.git`."""
    try:
        return os.lstat(path).st_uid not in owners | {os.stat(os.path.dirname(path)).st_uid}
    except OSError:
        return False
