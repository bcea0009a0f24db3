from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from markupsafe import Markup

from mcp_agent_mail.web.render import body_work
from mcp_agent_mail.web.render.body_work import MOST_BESIDES, MOST_STEPS, WIDENING, TooMuchWork, Work, one_page
from mcp_agent_mail.web.render.markdown import body_html, rendered

SIZE = 64 * 1024


def filled(unit: str, size: int = SIZE) -> str:
    return (unit * (size // len(unit) + 1))[:size]


@pytest.fixture(autouse=True)
def however_slow_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted decides; tests of time set it themselves."""
    monkeypatch.setattr(body_work, "WITHIN_S", 60.0)
    monkeypatch.setattr(body_work, "PAGE_WITHIN_S", 60.0)


WIDE = "|a" * 2_000 + "|\n" + "|-" * 2_000 + "|\n" + "|\n" * 2_000 + "\n\n"
LONG_ADDRESS = "[x]: http://b.example/" + "y" * (SIZE // 2) + "\n\n"
TOO_MUCH = {
    "tasks": filled("- [ ] x\n"),
    "images that do not end": filled("![") + "](b)",
    "links that do not end": filled("[") + "](b)",
    "brackets in brackets": filled("[[a]") + "](b)",
    "images in images": filled("![a " * 18 + "](http://b.example)" * 18 + " ", 2 * SIZE),
    "a wide table": filled(WIDE, len(WIDE)),
    "many tables": filled("|a\n|-\n" + "|\n" * 20 + "\n"),
    "few tables of empty cells": WIDE[:9_000] + "\n\n" + WIDE[:9_000],
    "a long address, often": LONG_ADDRESS + filled("[x] "),
    "the picture of a long address, often": LONG_ADDRESS + filled("![x] "),
    "references that are none": "[a]: http://b.example\n\n" + filled("[b]["),
    "lazy lines": "> " * 18 + filled("a\n"),
    "emphasis": filled("*a **b ", 2 * SIZE),
    "emphasis in emphasis": filled("*a ", 300) + filled("b* ", 300),
    "struck in emphasis": filled("*~~a ", 300) + filled("b~~* ", 300),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_would_be_too_much_work_is_shown_as_it_was_written(name: str) -> None:
    written = TOO_MUCH[name]

    html, is_plain = rendered(written)

    assert is_plain
    assert html.startswith('<pre tabindex="0"><code class="code">')


@pytest.mark.parametrize(
    "unit",
    [
        "&",
        "`a ``b ",
        "~~a ",
        "<",
        "&#1;",
        "<!--",
        "[a](",
        '[a](b "',
        "[a]: http://b.c\n",
        "- " * 18 + "a\n",
        ">\n",
        "\\",
    ],
)
def test_a_body_is_bounded_in_steps_and_in_what_is_written_for_it(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Work] = []

    class Seen(Work):
        def __init__(self, characters: int) -> None:
            super().__init__(characters)
            made.append(self)

    monkeypatch.setattr("mcp_agent_mail.web.render.markdown.Work", Seen)
    written = filled(unit)

    html, is_plain = rendered(written)

    assert 0 < made[0].steps <= MOST_STEPS + 2 * SIZE
    assert is_plain or len(html) <= WIDENING * SIZE + MOST_BESIDES


def test_a_long_report_is_laid_out() -> None:
    report = filled(
        '## Part\n\nA word or two, "said" *here* and `there`, [seen](https://a.example).\n\n- [x] one\n- two\n\n'
    )

    html, is_plain = rendered(report)

    assert not is_plain
    assert html.count("<h2>") > 500


def test_work_ends_by_steps_by_characters_and_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooMuchWork):
        Work(0).spend(MOST_STEPS + 1)
    work = Work(10)
    work.write(WIDENING * 10 + MOST_BESIDES)
    with pytest.raises(TooMuchWork):
        work.write(1)
    monkeypatch.setattr(body_work, "WITHIN_S", -1.0)
    with pytest.raises(TooMuchWork):
        Work(0).spend(1)


def test_the_bodies_of_a_page_have_their_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    long = filled("*a* b\n\n")
    monkeypatch.setattr(body_work, "PAGE_WITHIN_S", 0.0)
    with one_page():
        of_a_page = body_html(long)

    assert of_a_page.is_plain
    assert "*a*" in of_a_page
    assert not body_html(long).is_plain


def test_a_small_body_is_laid_out_whatever_stands_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_work, "PAGE_WITHIN_S", 0.0)
    with one_page():
        small = body_html(filled("Honest **bold** and\n\n- [x] list\n\n```js\nlet a\n```\n\n", 4_000))

    assert not small.is_plain
    assert "<strong>bold</strong>" in small
    assert '<span class="t-' not in small


@pytest.mark.parametrize(
    "written",
    [
        "# Said\n\nSee **this**\n\n```json\n" + json.dumps(list(range(4_000)), indent=1) + "\n```\n",
        filled("Text\n\n```python\ndef f(x):\n    return x + 1\n```\n\n", 28_000),
        "# Said\n\n```python\n" + filled("x = [y(1) + 2 for z in 3]\n", 40_000) + "\n```\n",
    ],
)
def test_code_is_laid_out_in_colours_and_loses_these_first(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_work, "COLOURS_WITHIN_S", 60.0)
    monkeypatch.setattr("mcp_agent_mail.web.render.code.WITHIN_S", 60.0)
    coloured = body_html(written)
    monkeypatch.setattr(body_work, "MOST_COLOURS", 1_000)
    plain = body_html(written)

    assert not coloured.is_plain
    assert '<span class="t-' in coloured
    assert not plain.is_plain
    assert "<pre" in plain
    assert plain.count("<span") < coloured.count("<span") / 2


def test_brackets_of_code_outside_fences_are_laid_out() -> None:
    assert not body_html("arr[0][1] = x[i][j] + y[k]\n" * 3_000).is_plain


def painting(seconds: float) -> Callable[[float], Markup]:
    """What takes so much of the processor's time."""

    def paint(_: float) -> Markup:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass
        return Markup("coloured")

    return paint


def test_colours_of_a_page_have_their_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_work, "PAGE_COLOURS_WITHIN_S", 0.02)
    plain = Markup("plain")
    with one_page():
        shown = [Work(100).painted(plain, painting(0.03)) for _ in range(2)]

    assert shown == ["coloured", plain]


def test_the_time_of_colours_is_not_taken_off_the_bodys_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_work, "WITHIN_S", 5.0)
    work = Work(100)
    ends = work._ends

    work.painted(Markup("plain"), painting(0.03))

    assert work._ends >= ends + 0.03
