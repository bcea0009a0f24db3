"""Images in one text: what goes before them, and what is inside of them."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.domain.markdown.inlines import InlineImages


def starts(text: str, labels: set[str] | None = None, begin: int = 0) -> list[int]:
    return [image.start for image in InlineImages(text, begin, labels or set()).found]


def test_images_are_found_from_where_the_text_begins() -> None:
    assert starts("![a](b) ![c](d)", begin=3) == [8]


def test_inside_of_a_link_no_other_link_begins_but_images_do() -> None:
    assert starts("[![a](b) [c](d)](e) ![f](g)") == [1, 20]
    # The first bracket is of no link any more: what follows its end is text.
    assert starts("[x [c](d)](![a](b))") == [11]
    assert starts("[x [c](d)] [y](![a](b))") == []


@pytest.mark.parametrize(
    "text", ["`` ![a](b) ` ``", "<a title='![a](b)' />", "<xx:![a](b)>", "<!--> --> <!-- ![a](b) -->"]
)
def test_code_and_html_hide_what_is_in_them(text: str) -> None:
    assert starts(text) == []


@pytest.mark.parametrize(
    "text", ["`` ![a](b) `", "<a title='![a](b)", "<a 1> ![a](b) >", "<!-- ![a](b) --", "< a>![a](b)"]
)
def test_code_and_html_that_do_not_end_hide_nothing(text: str) -> None:
    assert starts(text) == [text.index("![")]


def test_what_has_no_ending_is_looked_for_once() -> None:
    class Counted(str):
        __slots__ = ()

        def find(self, ending: str, *place: Any) -> int:
            sought.append(ending)
            return super().find(ending, *place)

    sought: list[str] = []

    assert starts(Counted("<!--<?<![CDATA[<!A ![a](b)" * 100)) == [19 + 26 * number for number in range(100)]
    assert sorted(sought) == ["-->", ">", "?>", "]]>"]


def test_references_are_found_by_their_labels_alone() -> None:
    labels = {"r", "a [b] c"}

    assert starts("![r] ![x][r] ![r][] ![r][none] ![none] ![r]( no) ![a [b] c]", labels) == [0, 5, 13, 39]
