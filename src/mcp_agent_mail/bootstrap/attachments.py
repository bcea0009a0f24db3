"""What keeps the files that mail carries: where contents lie, who converts images, and which files are lent."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.attachments.images import ImageConverter
from mcp_agent_mail.features.attachments.preparation import AttachmentRules
from mcp_agent_mail.features.attachments.service import AttachmentService
from mcp_agent_mail.features.attachments.sources import FindFolders, Lender
from mcp_agent_mail.features.messaging.contents import ContentReader
from mcp_agent_mail.store.engine.sqlite.database_files import is_of_database
from mcp_agent_mail.workspace.lent_places import ServerNames


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentParts:
    """`service` makes ready what is sent, `reader` reads what is kept. `close` comes when no send is under way, and
    `files.remove_leftovers` before the first.
    """

    files: AttachmentFiles
    service: AttachmentService
    reader: ContentReader
    converter: ImageConverter

    async def close(self) -> None:
        """Whoever waits for a file or an image is told that the server stops; no process is left."""
        self.service.close()
        await self.converter.aclose()


def attachment_parts(
    settings: Settings, places: ArchivePlaces, look: FindFolders, *, fault_hook: FaultHook = no_fault
) -> AttachmentParts:
    """Over STORAGE_ROOT and the settings of attachments. Starts nothing, and makes no folder."""
    folder = settings.storage_root / ATTACHMENTS_FOLDER
    files = AttachmentFiles(folder, fault_hook=fault_hook)
    converter = ImageConverter(settings.image_max_pixels, folder)
    rules = AttachmentRules(
        converts=settings.convert_images,
        keeps_originals=settings.keep_original_images,
        inline_max_bytes=settings.inline_image_max_bytes,
        max_bytes=settings.attachment_max_bytes,
        body_max_bytes=settings.message_body_max_bytes,
    )
    lender = Lender(
        find_archive=places.find_lent,
        never=(settings.storage_root,),
        apart=(settings.backup_dir,),
        own_names=_beside_database(settings.database_path, settings.storage_root),
        may_be_anywhere=settings.allow_absolute_attachment_paths,
    )
    service = AttachmentService(files, converter, lender=lender, look=look, rules=rules)
    return AttachmentParts(files=files, service=service, reader=ContentReader(files.open), converter=converter)


def _beside_database(database: Path, storage_root: Path) -> tuple[ServerNames, ...]:
    """What lies beside a database that is elsewhere, and beside what a link in its place leads to."""
    places = [path for path in dict.fromkeys((database, database.resolve())) if path.parent != storage_root]
    return tuple(
        ServerNames(folder=path.parent, is_own=partial(is_of_database, database_name=path.name)) for path in places
    )
