"""Images in the Markdown of a body: where their targets stand, so that these alone can be replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mcp_agent_mail.domain.markdown.blocks import LeafText, MarkdownBlocks
from mcp_agent_mail.domain.markdown.inlines import InlineImages
from mcp_agent_mail.domain.markdown.links import LinkTarget, unescaped


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


def find_images(body: str) -> list[ImageTarget]:
    """The targets of all images that a CommonMark reader shows, in the order of their places, each place once.

    A reference's target is that of its definition. What stands in code, in HTML or in an image's own text is no image;
    nor is one without a target. Takes time and room in proportion to the body, whatever it holds.
    """
    if not may_show_images(body):
        return []
    blocks = MarkdownBlocks(body)
    places: dict[int, ImageTarget] = {}
    for leaf in blocks.texts:
        for image in InlineImages(leaf.text, leaf.begin, blocks.definitions).found:
            if image.target is not None:
                place = _place(leaf, image.target)
            else:
                defining, definition = blocks.definitions[image.label or ""]
                place = _place(defining, definition.target)
            if place.target:
                places[place.start] = place
    return [places[start] for start in sorted(places)]


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
