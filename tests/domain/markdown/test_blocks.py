"""Which lines are read as text, and where that stands in the whole."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.markdown.blocks import MarkdownBlocks


def texts(body: str) -> list[str]:
    return [leaf.text[leaf.begin :] for leaf in MarkdownBlocks(body).texts]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("> ![a\n lazy](b)\n", ["![a\nlazy](b)"]),
        ("- ![a](b)\n\n  ![c](d)\n", ["![a](b)", "![c](d)"]),
        ("-\n\n  ![a](b)\n", ["![a](b)"]),
        ("-\n\n    ![a](b)\n", []),
        ("x\n2. ![a](b)\n", ["x\n2. ![a](b)"]),
        ("x\n1. ![a](b)\n", ["![a](b)"]),
        (">\t\t![a](b)", []),
        (">\t![a](b)", ["![a](b)"]),
        ("-\t\t![a](b)", []),
        ("- a\n\t![b](c)", ["a\n![b](c)"]),
        ("***\n![a](b)", ["![a](b)"]),
        ("[r]: x\n![a](b)\n===\n", ["![a](b)"]),
        ("```\n> ```\n![a](b)\n````\n![c](d)", ["![c](d)"]),
        ("<b>\n![a](b)\n\n![c](d)", ["![c](d)"]),
        ("x\n<b>\n![a](b)", ["x\n<b>\n![a](b)"]),
        ("<!-- -->![a](b)\n![c](d)", ["![c](d)"]),
    ],
)
def test_paragraphs_and_headings_are_text_and_code_and_html_are_not(body: str, expected: list[str]) -> None:
    assert texts(body) == expected


def test_places_in_a_text_are_those_of_the_whole() -> None:
    body = "> - one\r\n>   two ![x](y)\r\n"

    (leaf,) = MarkdownBlocks(body).texts

    assert body[leaf.source(leaf.text.index("![")) :].startswith("![x](y)")
    assert leaf.source(0) == body.index("one")


def test_the_first_definition_of_a_label_counts_wherever_it_stands() -> None:
    blocks = MarkdownBlocks("- > [a]: first\n\n[A]: second\n\n    [b]: code\n")

    leaf, definition = blocks.definitions["a"]
    assert leaf.text[definition.target.start : definition.target.end] == "first"
    assert set(blocks.definitions) == {"a"}
