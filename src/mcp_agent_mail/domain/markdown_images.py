"""Images in the Markdown of a body: where their targets stand, so that these alone can be replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.markdown.blocks import LeafText, MarkdownBlocks
from mcp_agent_mail.domain.markdown.inlines import InlineImages
from mcp_agent_mail.domain.markdown.links import LinkTarget, unescaped
from mcp_agent_mail.domain.markdown.steps import Steps

MAX_IMAGES = 1_000
"""Different ones of one body, wherever they lie."""


class TooManyImages(InvalidInput):
    """More different images in one body than are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTarget:
    """`body[start:end]` is the target as it is written; `target` is what is meant, without escapes."""

    start: int
    end: int
    target: str


def may_show_images(body: str) -> bool:
    """Whether it is worth looking for images: each begins with `![`, and has its target behind `](`, or in a
    definition. A body with `vec![0; 8]` alone costs nothing more.
    """
    return "![" in body and ("](" in body or "]:" in body)


def find_images(body: str, steps: Steps | None = None) -> list[ImageTarget]:
    """The targets of all images that a CommonMark reader shows, in the order of their places, each place once.

    A reference's target is that of its definition. What stands in code, in HTML or in an image's own text is no image;
    nor is one without a target. Takes time and room in proportion to the body, whatever it holds,
    and no more than `steps` allow. Raises TooManyImages beyond MAX_IMAGES different ones, TooManySteps.
    """
    if "![" not in body:
        return []
    steps = steps or Steps()
    blocks = MarkdownBlocks(body, steps)
    places: dict[int, ImageTarget] = {}
    defined: dict[str, ImageTarget] = {}
    targets: set[str] = set()
    for leaf in blocks.texts:
        for image in InlineImages(leaf.text, leaf.begin, blocks.definitions, steps).found:
            if image.target is not None:
                place = _place(leaf, image.target)
            else:
                place = _defined_place(blocks, image.label or "", defined)
            if place.target:
                places[place.start] = place
                targets.add(place.target)
                _require_few(targets)
    return [places[start] for start in sorted(places)]


def _defined_place(blocks: MarkdownBlocks, label: str, known: dict[str, ImageTarget]) -> ImageTarget:
    """Each definition is read once, however many images use it, and however long its target is."""
    if label not in known:
        defining, definition = blocks.definitions[label]
        known[label] = _place(defining, definition.target)
    return known[label]


def _require_few(targets: set[str]) -> None:
    if len(targets) > MAX_IMAGES:
        raise TooManyImages(
            f"The body shows more than {MAX_IMAGES:,} different images.",
            hint="Show fewer, or send it with convert_images=false.",
            data={"max_images": MAX_IMAGES},
        )


def replace_targets(body: str, images: Iterable[ImageTarget], replacements: Mapping[str, str]) -> str:
    """The body with those of its images' targets replaced that `replacements` names; all else byte for byte.

    `images` as `find_images` gave them. A replacement must need no escape.
    """
    parts, at = [], 0
    for image in images:
        if (new := replacements.get(image.target)) is not None:
            parts += [body[at : image.start], new]
            at = image.end
    return "".join([*parts, body[at:]])


def _place(leaf: LeafText, target: LinkTarget) -> ImageTarget:
    start = leaf.source(target.start)
    return ImageTarget(
        start=start,
        end=start + target.end - target.start,
        target=unescaped(leaf.text[target.start : target.end]),
    )
