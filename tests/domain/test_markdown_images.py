"""Images of a body are found where a CommonMark reader shows them, and nothing but their targets is replaced."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest

from mcp_agent_mail.domain import markdown_images
from mcp_agent_mail.domain.markdown.links import unescaped
from mcp_agent_mail.domain.markdown.steps import MAX_STEPS, Steps, TooManySteps
from mcp_agent_mail.domain.markdown_images import (
    MAX_IMAGES,
    TooManyImages,
    find_images,
    may_show_images,
    replace_targets,
)
from tests.domain.markdown_oracle import read_by_rule, require_agreement

GENERATED = 4_000
ATOMS = [
    *(
        "![",
        "](",
        ")",
        "[",
        "]",
        "(",
        "a",
        "b",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "> ",
        "- ",
        "+",
        "1. ",
        "2. ",
        "10) ",
        "- - ",
    ),
    *("   ", "    ", "\t", "\n  ", "\n    ", "\n\t", "`", "``", "```\n", "~~~\n", "<", "<a>", '<a href="', '"', "'"),
    *("</a>", "<!--", "-->", "<div>", "\n<b>\n", "<!D ", "<?", "?>", "<http://a>", "\\", "\\)", "&amp;", "é"),
    *("![a](t)", "![b](<x y> 'q')", "![r]", "![r][]", "![x][r]", "[r]", "[x](y)", "![ ![i](j) ](k)"),
    *("===\n", "---\n", "# ", "* * *\n", "\n\n[r]: /d\n\n", '\n\n[r]: </e> "t"\n\n', "> [r]: f\n\n"),
]


def targets(body: str) -> list[str]:
    return [image.target for image in require_agreement(body)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('See ![a chart](plots/a.png "Loss") and ![](b.png).', ["plots/a.png", "b.png"]),
        ("![a](<with blank.png>) ![b](paren(s).png) ![c](esc\\)aped.png) ![d](a&amp;b.png)", None),
        ("![plot][p] ![p][] ![p]\n\n[p]: plot.png 'title'\n", ["plot.png"]),
        ("![a\nb](c\n'd\ne')", ["c"]),
        ("> - ![quoted](q.png)\n>   ![more](m.png)\n", ["q.png", "m.png"]),
        ("# ![head](h.png)\n\n![under](u.png)\n===\n", ["h.png", "u.png"]),
        ("![outer ![inner](i.png)](o.png)", ["o.png"]),
        ("[![badge](b.svg)](https://ci)", ["b.svg"]),
        ("![P  Q]\n\n[p q]: found.png\n[P Q]: second.png\n", ["found.png"]),
    ],
)
def test_images_are_found_however_they_are_written(body: str, expected: list[str] | None) -> None:
    meant = ["with blank.png", "paren(s).png", "esc)aped.png", "a&b.png"]
    assert targets(body) == (meant if expected is None else expected)


@pytest.mark.parametrize(
    "body",
    [
        "`![a](b)`",
        "``` \n![a](b)\n```\n",
        "~~~\n![a](b)",
        "    ![a](b)\n",
        "- x\n\n      ![a](b)\n",
        "<!-- ![a](b) -->",
        "x <b title='![a](b)'> <?![a](b)?> <!X ![a](b)> <![CDATA[![a](b)]]>",
        "<div>\n![a](b)\n</div>\n",
        "<pre>\n\n![a](b)\n\n</pre>",
        "<http://x/![a](b)>",
        "\\![a](b) !\\[a](b) ![a\\](b) ! [a](b) ![a] (b) ![a](b c) ![a]() ![a][none]",
        "[a](b '![c](d)')",
        "![a](b\n\nc)",
    ],
)
def test_what_a_reader_shows_as_no_image_is_none(body: str) -> None:
    assert targets(body) == []


def test_a_reader_of_others_making_sees_the_same_images_in_generated_bodies(
    record_property: Callable[[str, object], None],
) -> None:
    dice = random.Random(13)
    cases = found = 0
    while cases < GENERATED:
        body = "".join(dice.choice(ATOMS) for _ in range(dice.randint(2, dice.choice([8, 16, 40]))))
        if "![" in body and read_by_rule(body):
            cases += 1
            found += len(require_agreement(body))

    record_property("cases", cases)
    assert found > GENERATED / 4


def test_targets_are_replaced_and_all_else_stays_byte_for_byte() -> None:
    body = "\ufeff![a](x.png 't')\r\n\t`![a](x.png)` ![b](<x.png>) ![c][r] ![d](y.png)\r\n\r\n[r]:  x.png\n\x00 end  \r"

    replaced = replace_targets(body, find_images(body), {"x.png": "/new"})

    assert replaced == (
        "\ufeff![a](/new 't')\r\n\t`![a](x.png)` ![b](</new>) ![c][r] ![d](y.png)\r\n\r\n[r]:  /new\n\x00 end  \r"
    )


def test_a_definition_that_several_images_use_is_one_place() -> None:
    (image,) = require_agreement("![r] ![x][r] ![R][]\n\n[r]: one.png\n")

    assert image.target == "one.png"


UNITS = [
    *(
        "![a](",
        "![",
        "](",
        "[",
        "]",
        "> ",
        "> > > >\n",
        "- ",
        "- - - a\n",
        "\n",
        "a\n",
        "`",
        "` `` ```",
        "<",
        "<!--",
        "<?",
    ),
    *("<!A ", "<![CDATA[", '<a b="', "<a b='\" c='", "[a]: b\n", '[a]: b "\n', "![a", "](b)", "](((((", '](a "', "\\"),
    *(
        "![a][",
        "[a]",
        "```\n",
        "<div>\n",
        "1. ",
        "\t",
        "a\n=\n",
        "<a@a.a",
        "[a](b)",
        "![[a](b)",
        "> - \n>\n",
        "]:",
        "](<",
    ),
    "[" + "a" * 998,
]
HOSTILE = [
    *UNITS,
    "- " * 15_000 + "x\n" + "\n\na" * 9_000,
    "> " + "- " * 15_000 + "x\n" + ">\n" * 15_000,
    "[" * 27_000 + "[a](b)" * 6_000,
    "![" * 18_000 + "](b)" * 9_000,
    "".join("`" * length + " " for length in range(600)),
]


def steps(body: str, most: int = 10**9) -> int:
    """Calls that are made while the body is read: functions of ours, and those of Python's own."""
    count = 0

    def note(_frame: object, event: str, _what: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        find_images(body, Steps(most))
    except TooManySteps:
        assert most < 10_000
    finally:
        sys.setprofile(None)
    return count


MARKED = [*UNITS, "![a]\n\n[a]: x\n\n", "* ![", "![a](\\)", "![a](" + "(" * 30, "\n![\n\n>", "`"]


@pytest.mark.parametrize("unit", MARKED, ids=range(len(MARKED)))
def test_a_body_is_left_after_so_many_steps_however_long_it_is(unit: str) -> None:
    body = "![z](z)\n\n" + unit * (40_000 // len(unit))

    first, longer = steps(body, 1_000), steps(body * 4, 1_000)
    assert longer < max(64 * 1_000, 2 * first)


def test_a_definition_is_read_once_however_many_images_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "![a]" * 500 + "\n\n[a]: x" + "\\!" * 1_000
    read: list[str] = []

    def noted(text: str) -> str:
        read.append(text)
        return unescaped(text)

    monkeypatch.setattr(markdown_images, "unescaped", noted)

    (image,) = find_images(body)

    assert (image.target, len(read)) == ("x" + "!" * 1_000, 1)


def test_so_many_different_images_are_found_and_one_more_is_refused() -> None:
    body = "".join(f"![a](http://x/{number})\n" for number in range(MAX_IMAGES))

    assert len(find_images(body * 2)) == 2 * MAX_IMAGES
    with pytest.raises(TooManyImages) as refused:
        find_images(body + "![a](one-more)")
    assert "convert_images=false" in refused.value.hint


def test_a_body_with_more_lines_and_marks_than_are_looked_through_is_refused_with_the_next_step() -> None:
    with pytest.raises(TooManySteps) as refused:
        find_images("![a]\n\n[a]: x\n\n" * 60_000)

    assert (refused.value.code, refused.value.data) == ("INVALID_INPUT", {"max_steps": MAX_STEPS})
    assert "convert_images=false" in refused.value.hint


@pytest.mark.parametrize("unit", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_body_is_read_in_steps_that_grow_with_it(unit: str) -> None:
    size = 60_000
    once = (unit * (size // len(unit) + 1))[:size]

    # A quadratic reading makes some hundred times as many; a target is read 32 times at most.
    assert steps(once + "\n\n![z](z)") < 64 * size


def test_a_body_without_an_image_is_not_read_at_all() -> None:
    assert steps("> [a](b)\n" * 1_000) <= 3


@pytest.mark.parametrize(
    ("body", "may"),
    [
        ("a ![b](c)", True),
        ("![r]\n\n[r]: c", True),
        ("[a](b) and !c", False),
        ("vec![0; 8]", False),
        ("", False),
    ],
)
def test_a_body_without_the_beginning_of_an_image_is_not_looked_through(body: str, may: bool) -> None:
    assert may_show_images(body) is may
    assert may or find_images(body) == []
