"""What a bundle of before would lose to a new one in its place."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict, in_sentences, listed
from mcp_agent_mail.features.sharing.manifest import SIGNATURE, BundleManifest, UnfitManifest, read_manifest
from mcp_agent_mail.features.sharing.service import RESERVED_NAMES

_PAGE_OF_PROJECT = "index.html"


class LostParts(Conflict):
    """The bundle of before has projects, or a signature, that the new one has not."""


def require_nothing_lost(target: Path, projects: Collection[str], *, is_signed: bool) -> None:
    """Raise LostParts where a bundle of these `projects`, by their names in it, takes away what is at `target`.

    Nothing is lost where no bundle is: whoever makes one there says what is wrong with the place.
    """
    try:
        known, _ = read_manifest(target)
    except UnfitManifest:
        return
    lost = sorted(_projects_of(known) - set(projects))
    is_unsigned = os.path.lexists(target / SIGNATURE) and not is_signed
    if not lost and not is_unsigned:
        return
    raise LostParts(
        in_sentences(
            f"The bundle in {target} has {listed(lost, 'and')} too, which this command does not name." if lost else "",
            f"The bundle in {target} is signed, and would not be any more." if is_unsigned else "",
            "Nothing was changed.",
        ),
        hint=in_sentences(
            "Name every project that it is to have, each by --project, or export into another folder." if lost else "",
            "Sign it again: --sign KEY." if is_unsigned else "",
            "To lose that all the same: --replace.",
        ),
        data={"path": str(target), "projects": lost, "loses_signature": is_unsigned},
    )


def _projects_of(manifest: BundleManifest) -> set[str]:
    folders = {path.partition("/")[0] for path in manifest.files if path.partition("/")[2] == _PAGE_OF_PROJECT}
    return folders - RESERVED_NAMES
