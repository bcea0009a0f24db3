from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from mcp_agent_mail.web.render.markdown import body_html

BOX = '<input aria-label="{said}" class="task-list-item-checkbox"{checked} disabled="disabled" type="checkbox">'
TO_DO = BOX.format(said="to do", checked="")
DONE = BOX.format(said="done", checked=' checked="checked"')
OPEN = '<ul class="contains-task-list">\n'


def test_items_that_begin_with_a_box_are_tasks() -> None:
    assert body_html("- [ ] a\n- [x] **b**\n- c [ ] d\n") == (
        f'{OPEN}<li class="task-list-item">{TO_DO} a</li>\n'
        f'<li class="task-list-item">{DONE} <strong>b</strong></li>\n<li>c [ ] d</li>\n</ul>\n'
    )


def test_each_list_is_told_of_its_own_tasks() -> None:
    inner = f'<li class="task-list-item">{DONE} b</li>'

    assert body_html("1. a\n   - [X] b\n2. c\n") == f"<ol>\n<li>a\n{OPEN}{inner}\n</ul>\n</li>\n<li>c</li>\n</ol>\n"


def test_what_only_looks_like_a_box_is_none() -> None:
    for text in ("- [ ]", "- [-] a", "- [x](https://a.example)", "- \\[ ] a", "[ ] a", "- [x]: a", "- [ ]a"):
        assert "<input" not in body_html(text), text
    assert "<input" not in body_html("[x]: https://a.example\n\n- [x] a\n")


def test_twice_the_tasks_are_twice_the_work() -> None:
    assert _lines_run("- [ ] x\n" * 800) < 2.5 * _lines_run("- [ ] x\n" * 400)


def _lines_run(text: str) -> int:
    """How many lines of programs it takes to show this."""
    ran = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:  # what Python asks for
        nonlocal ran
        ran += event == "line"
        return trace

    body_html("- [ ] warm\n")
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        body_html(text)
    finally:
        sys.settrace(before)
    return ran
