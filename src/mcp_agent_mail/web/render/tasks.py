"""Items of lists that begin with `[ ]` or `[x]` are tasks, each with a box that nobody can press."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore

BOX = "task_box"
"""Type of the token: its `info` is DONE or TO_DO."""
DONE, TO_DO = "done", "to do"

_BOX = re.compile(r"\[([ xX])\][ \t\n\v\f\r]")
_LISTS = frozenset({"bullet_list_open", "ordered_list_open"})


def add_tasks(parser: MarkdownIt) -> None:
    parser.core.ruler.after("inline", "tasks", _tasks)


def _tasks(state: StateCore) -> None:
    """Once over all tokens: the lists that are open are on a stack."""
    lists: list[Token] = []
    tokens = state.tokens
    for at, token in enumerate(tokens):
        if token.type in _LISTS:
            lists.append(token)
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            lists.pop()
        elif token.type == "list_item_open" and _put_box(tokens[at + 1 : at + 3]):
            token.attrSet("class", "task-list-item")
            lists[-1].attrSet("class", "contains-task-list")


def _put_box(following: Sequence[Token]) -> bool:
    """Into the paragraph with which an item begins, if it begins with one. What was written as a box may be a link, by
    a definition of what it refers to.
    """
    if [one.type for one in following] != ["paragraph_open", "inline"]:
        return False
    children = following[1].children or []
    first = children[0].content if children and children[0].type == "text" else ""
    found = _BOX.match(f"{first}\n") if _BOX.match(following[1].content) else None
    if found is None:
        return False
    children[0].content = first[3:]
    children.insert(0, Token(BOX, "input", 0, info=TO_DO if found[1] == " " else DONE))
    return True
