"""One call's attachments on their way: read, then converted, then kept, and the body made to show them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

from mcp_agent_mail.archive.attachments import StagedContent
from mcp_agent_mail.core.errors import AgentMailError, InvalidInput, NotFound
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.attachments import (
    HEAD_BYTES,
    MAX_ATTACHMENTS,
    Attachment,
    StoredContent,
    find_digest,
    is_reference,
    kind_of,
    media_type_of,
    read_digest,
    shown_name,
)
from mcp_agent_mail.domain.markdown_images import ImageTarget, TooManyImages, replace_targets
from mcp_agent_mail.domain.messages import require_body_fits
from mcp_agent_mail.features.attachments.data_uris import UnfitDataUri, is_data_uri, read_data_uri
from mcp_agent_mail.features.attachments.image_protocol import ConvertedImage
from mcp_agent_mail.features.attachments.images import (
    ImageConverter,
    ImageConverterSilent,
    TimeOfMessage,
    UnfitImage,
)
from mcp_agent_mail.features.attachments.path_hints import hints_for, named
from mcp_agent_mail.features.attachments.requests import AS_IT_IS, AttachmentRequest
from mcp_agent_mail.features.attachments.results import ImageLeft, PreparedAttachments, WhyLeft
from mcp_agent_mail.features.attachments.sources import FindFolders, Lender, is_kept, is_url, require_local
from mcp_agent_mail.features.attachments.staged_contents import StagedContents
from mcp_agent_mail.features.attachments.threads import AttachmentThreads
from mcp_agent_mail.workspace.lent_files import ArchivedContent
from mcp_agent_mail.workspace.lent_places import ProjectFolders

MAX_TARGETS = 100
"""Different images of one body that are looked for; and so many are told of as left."""
_SHOWN = 200


class TooManyAttachments(InvalidInput):
    """Named ones and images of the body together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRules:
    """As the settings have them; sizes in bytes, `inline_max_bytes` 0 is never inline. `converts`: where neither a call
    nor its sender's policy says.
    """

    converts: bool
    keeps_originals: bool
    inline_max_bytes: int
    max_bytes: int
    body_max_bytes: int


@dataclass(slots=True, kw_only=True)
class _Draft:
    """One content: as it was read, what it became, and which targets of the body show it. `path`: where it was, empty
    for a `data:` URI. `named`: how a refusal says which it is.
    """

    staged: StagedContent
    path: str
    named: str
    converted: StagedContent | None = None
    picture: ConvertedImage | None = None
    targets: list[str] = field(default_factory=list)

    @property
    def shown(self) -> StagedContent:
        return self.converted or self.staged


class Preparation:
    """Its steps run one after the other: a message has few attachments, and other calls wait too."""

    def __init__(
        self,
        request: AttachmentRequest,
        contents: StagedContents,
        converter: ImageConverter,
        *,
        lender: Lender,
        look: FindFolders,
        rules: AttachmentRules,
        threads: AttachmentThreads,
    ) -> None:
        self._request = request
        self._look = look
        self._directories: ProjectFolders | None = None
        self._contents = contents
        self._converter = converter
        self._lender = lender
        self._rules = rules
        self._threads = threads
        self._wanted: dict[str, _Draft | None] = {}
        """By digest, in their order; None for what was asked for by its digest."""
        self._left: dict[str, WhyLeft] = {}
        self._time = TimeOfMessage()

    async def make(self, images: Sequence[ImageTarget], *, converts: bool) -> PreparedAttachments:
        """`images`: of the request's body, those to convert; `converts`: named images too."""
        if len(self._request.paths) > MAX_ATTACHMENTS:
            raise _too_many()
        for at, path in enumerate(self._request.paths):
            place = f"attachment_paths[{at}]" if len(self._request.paths) > 1 else ""
            with hints_for(path, place):
                await self._add_named(path, named(path, place))
        shown = self._shown_from_here(images)
        for at, target in enumerate(shown):
            await self._add_shown(target, f"of image {at + 1} of the body" if len(shown) > 1 else "of the body")
        quoted = self._quoted(images)
        drafts = [draft for draft in self._wanted.values() if draft is not None]
        for draft in drafts:
            if converts and draft.staged.kind.is_image:
                await self._convert(draft)
        kept = await self._threads.compute(partial(self._contents.keep, self._all_to_keep(drafts)))
        return PreparedAttachments(
            items=self._items(kept),
            body_md=await self._body(images, drafts, kept),
            quoted=quoted,
            images_left=tuple(ImageLeft(target=_cut(target), reason=why) for target, why in self._told()),
        )

    async def _add_named(self, path: str, said: str) -> None:
        if (digest := read_digest(path)) is not None:
            self._wanted.setdefault(digest, None)
        elif is_data_uri(path):
            self._add(await self._threads.compute(lambda: self._contents.stage(read_data_uri(path))), "", said)
        else:
            require_local(path, self._request)
            directories = await self._find_directories()
            found = await self._threads.read(self._directory, partial(self._read_file, path, directories))
            if isinstance(found, ArchivedContent):
                self._wanted.setdefault(found.sha256, None)
            else:
                self._add(found, path, said)
        self._require_room()

    async def _add_shown(self, target: str, place: str) -> None:
        found: StagedContent | WhyLeft
        said = named(target, place)
        if is_data_uri(target):
            with hints_for(target, place):
                found = await self._threads.compute(partial(self._read_image_data, target))
        elif self._request.caller.is_remote:
            found = WhyLeft.FORBIDDEN
        else:
            directories = await self._find_directories()
            with hints_for(target):
                found = await self._threads.read(self._directory, partial(self._read_image_file, target, directories))
        if isinstance(found, WhyLeft):
            self._left[target] = found
        else:
            self._add(found, "" if is_data_uri(target) else unquote(target), said).targets.append(target)
            self._require_room()

    def _add(self, staged: StagedContent, path: str, said: str) -> _Draft:
        draft = self._wanted.get(staged.sha256)
        if draft is None:
            draft = self._wanted[staged.sha256] = _Draft(staged=staged, path=path, named=said)
        return draft

    def _require_room(self) -> None:
        if len(self._wanted) > MAX_ATTACHMENTS:
            raise _too_many()

    @property
    def _directory(self) -> str:
        return self._request.project.human_key

    def _shown_from_here(self, images: Sequence[ImageTarget]) -> list[str]:
        """The targets that may be of this machine, each once; others are left as they are."""
        targets = dict.fromkeys(image.target for image in images)
        for target in filter(is_url, targets):
            self._left[target] = WhyLeft.BY_DIGEST if is_reference(target) else WhyLeft.REMOTE
        local = [target for target in targets if not is_url(target) and not is_kept(target)]
        if len(local) > MAX_TARGETS:
            raise TooManyImages(
                f"The body shows {len(local):,} different images; at most {MAX_TARGETS} are looked for.",
                hint=f"Show fewer ({MAX_ATTACHMENTS} can be attached), or send it {self._request.unconverted}.",
                data={"max_images": MAX_TARGETS},
            )
        return local

    def _quoted(self, images: Sequence[ImageTarget]) -> tuple[str, ...]:
        """The targets that are attachments by now, as far as there is room beside what the message brings itself."""
        kept = dict.fromkeys(image.target for image in images if is_kept(image.target))
        digests = {target: find_digest(target[1:]) for target in kept}
        room = MAX_ATTACHMENTS - len(self._wanted)
        coming = list(dict.fromkeys(digest for digest in digests.values() if digest not in self._wanted))[:room]
        for target, digest in digests.items():
            if digest not in coming and digest not in self._wanted:
                self._left[target] = WhyLeft.TOO_MANY
        return tuple(target for target, digest in digests.items() if digest in coming)

    def _told(self) -> Iterable[tuple[str, WhyLeft]]:
        return list(self._left.items())[:MAX_TARGETS]

    async def _find_directories(self) -> ProjectFolders:
        """One look for all paths of the call."""
        if self._directories is None:
            self._directories = await self._look(self._request.project, self._request.project_key)
        return self._directories

    def _read_file(self, path: str, directories: ProjectFolders) -> StagedContent | ArchivedContent:
        found = self._lender.open(path, self._request, directories)
        if isinstance(found, ArchivedContent):
            return found
        with found as file:
            return self._contents.stage(file.descriptor)

    def _read_image_file(self, target: str, directories: ProjectFolders) -> StagedContent | WhyLeft:
        """As it is written, or, where that is no file, without escapes as in a URL."""
        why = WhyLeft.MISSING
        for path in dict.fromkeys((target, unquote(target))):
            try:
                lent = self._lender.open(path, self._request, directories)
            except NotFound:
                continue
            except InvalidInput:
                why = WhyLeft.FORBIDDEN
                continue
            if isinstance(lent, ArchivedContent):
                # Who may read it is known to the unit of work alone, and the same is told whatever it would find.
                return WhyLeft.FORBIDDEN
            with lent as file:
                is_image = kind_of(os.pread(file.descriptor, HEAD_BYTES, 0)).is_image
                return self._contents.stage(file.descriptor) if is_image else WhyLeft.NO_IMAGE
        return why

    def _read_image_data(self, target: str) -> StagedContent | WhyLeft:
        try:
            pieces = read_data_uri(target)
            head = next(pieces, b"")
            return self._contents.stage(chain([head], pieces)) if kind_of(head).is_image else WhyLeft.NO_IMAGE
        except UnfitDataUri:
            return WhyLeft.NO_IMAGE

    async def _convert(self, draft: _Draft) -> None:
        target = self._contents.place_beside(draft.staged)
        try:
            draft.picture = await self._converter.convert(
                draft.staged.path, target, line=f"agent {self._request.sender_id}", time=self._time
            )
        except (UnfitImage, ImageConverterSilent) as refused:
            raise self._which(draft, refused) from refused
        draft.converted = await self._threads.compute(partial(self._stage_converted, target))

    def _which(self, draft: _Draft, refused: UnfitImage | ImageConverterSilent) -> AgentMailError:
        """The refusal with the image that is meant, and a call that the caller has."""
        data = dict(refused.data)
        if draft.path:
            data["path"] = _cut(draft.path)
        if self._request.answers is not None and "parameter" in data:
            data["parameter"] = "attachment_paths"
        hint = refused.hint.replace(AS_IT_IS, self._request.unconverted)
        return refused.reworded(message=f"{draft.named}: {refused.message}", hint=hint, data=data)

    def _stage_converted(self, target: Path) -> StagedContent:
        with target.open("rb", buffering=0) as file:
            staged = self._contents.stage(file.fileno())
        target.unlink()  # Twice on disk is more than was counted.
        return staged

    def _all_to_keep(self, drafts: Iterable[_Draft]) -> list[StagedContent]:
        originals = [draft.staged for draft in drafts if draft.converted and self._rules.keeps_originals]
        return [*(draft.shown for draft in drafts), *originals]

    def _items(self, kept: dict[str, StoredContent]) -> tuple[Attachment | str, ...]:
        """Different originals may be one image once they are converted."""
        items: dict[str, Attachment | str] = {}
        for digest, draft in self._wanted.items():
            if draft is None:
                items.setdefault(digest, digest)
            elif isinstance(items.get(draft.shown.sha256, ""), str):
                items[draft.shown.sha256] = self._attachment(draft, kept)
        return tuple(items.values())

    def _attachment(self, draft: _Draft, kept: dict[str, StoredContent]) -> Attachment:
        content = kept[draft.shown.sha256]
        name = shown_name(draft.path, draft.shown.kind)
        most, asked = self._rules.inline_max_bytes, self._request.inline_max_bytes
        is_small = draft.converted is not None and content.bytes <= (most if asked is None else min(most, asked))
        return Attachment(
            content=content,
            name=name,
            media_type=media_type_of(draft.shown.kind, name),
            width=draft.picture.width if draft.picture else None,
            height=draft.picture.height if draft.picture else None,
            is_inline=is_small and self._request.policy is not AttachmentsPolicy.FILE,
            original=kept[draft.staged.sha256] if draft.converted and self._rules.keeps_originals else None,
        )

    async def _body(
        self, images: Sequence[ImageTarget], drafts: Iterable[_Draft], kept: dict[str, StoredContent]
    ) -> str:
        addresses = {target: f"/{kept[draft.shown.sha256].path}" for draft in drafts for target in draft.targets}
        if not addresses:
            return self._request.body_md
        body_md = await self._threads.compute(partial(replace_targets, self._request.body_md, images, addresses))
        require_body_fits(body_md, self._rules.body_max_bytes)
        return body_md


def _cut(target: str) -> str:
    return target if len(target) <= _SHOWN else f"{target[:_SHOWN]}…"


def _too_many() -> TooManyAttachments:
    return TooManyAttachments(
        f"A message carries at most {MAX_ATTACHMENTS} attachments, images of its body among them.",
        hint="Send the rest in another message, or put files into one archive file.",
        data={"max_attachments": MAX_ATTACHMENTS},
    )
