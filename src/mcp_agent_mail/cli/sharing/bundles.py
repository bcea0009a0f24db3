"""Makes and verifies bundles from the store itself: beside a server, or without one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mcp_agent_mail.archive.attachments import AttachmentFiles
from mcp_agent_mail.archive.contents import Contents
from mcp_agent_mail.cli.context import CliContext
from mcp_agent_mail.cli.offline.store_lock import told_without_room
from mcp_agent_mail.cli.project_option import absolute_key
from mcp_agent_mail.core.plain_files import read_plain
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER
from mcp_agent_mail.features.projects.lookup import called_by_people, looking_at_disk
from mcp_agent_mail.features.sharing.folder import export_bundle
from mcp_agent_mail.features.sharing.lost_parts import require_nothing_lost
from mcp_agent_mail.features.sharing.manifest import SIGNATURE
from mcp_agent_mail.features.sharing.results import SharedPreset
from mcp_agent_mail.features.sharing.service import ShareRequest, SharingService
from mcp_agent_mail.features.sharing.signatures import (
    MOST_SIGNATURE_BYTES,
    read_private_key,
    read_public_key,
    require_signature,
    signature_of,
)
from mcp_agent_mail.features.sharing.verify import verify_bundle
from mcp_agent_mail.store.transaction import open_view
from mcp_agent_mail.web.bundle.pages import BundlePages

# Plain JSON, as `--json` prints it; here and below.
Answer = dict[str, Any]

_ONLY_WHOLE = "not checked: without --key only that it is whole"


def export_here(
    context: CliContext,
    target: Path,
    projects: Sequence[str],
    threads: Sequence[str],
    *,
    preset: SharedPreset,
    key: Path | None,
    may_replace: bool,
    progress: Callable[[int, int], None],
) -> Answer:
    """Bring the bundle at `target` up to date, or make it. `may_replace`: also where it loses something by that."""
    sign = None if key is None else partial(signature_of, key=read_private_key(key))
    contents = Contents(AttachmentFiles(context.storage_root / ATTACHMENTS_FOLDER))
    request = ShareRequest(
        project_keys=[absolute_key(one, "--project") for one in projects], threads=threads, preset=preset
    )
    with (
        told_without_room(context.settings, target),
        open_view(context.settings.database_path) as view,
        looking_at_disk(),
        called_by_people(),
    ):
        service = SharingService(view, contents)
        mail = service.collect(request)
        if not may_replace:
            names = [one.slug for one in mail.projects]
            require_nothing_lost(target.absolute(), names, is_signed=sign is not None)
        pages = BundlePages(service, mail, progress=progress)
        made = export_bundle(target, pages.files(), preset=preset, storage_root=context.storage_root, sign=sign)
    return {
        "path": str(target.absolute()),
        "preset": str(preset),
        "projects": len(mail.projects),
        "messages": sum(len(one.messages) for one in mail.projects),
        "files": made.files,
        "bytes": made.bytes,
        "changed": made.changed,
        "removed": made.removed,
        "signed": made.is_signed,
        "redacted": dict(sorted(service.redactor.counts.items())),
    }


def verify_here(folder: Path, key: Path | None) -> Answer:
    """Of a bundle, wherever it was made."""
    check = None
    if key is not None:
        public_key = read_public_key(key)

        def check(manifest: bytes) -> None:
            signature = read_plain(str(folder / SIGNATURE), MOST_SIGNATURE_BYTES, follow=False)
            require_signature(manifest, signature, public_key)

    found = verify_bundle(folder, check)
    return {
        "path": str(folder.absolute()),
        "preset": str(found.preset),
        "files": found.files,
        "bytes": found.bytes,
        "signature": f"by {key}" if found.is_signed else _ONLY_WHOLE,
    }
