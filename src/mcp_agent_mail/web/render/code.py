"""Code in colours, by classes alone; what is large, or takes long, stays plain."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from operator import itemgetter

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token, _TokenType

HIGHLIGHTED_CHARACTERS = 100 * 1024
WITHIN_S = 0.2
LANGUAGES = frozenset(
    """
    bash c c# c++ clojure cpp csharp css dart diff docker dockerfile elixir erlang go golang graphql haskell
    hcl html java javascript js json json5 julia kotlin lua make makefile nginx perl php powershell
    proto protobuf ps1 py py3 python python3 r rb rs ruby rust scala scss sh shell sql swift
    terraform toml ts tsx typescript xml yaml yml zig zsh
    """.split()
)
"""Those of which no text was found that holds a lexer up between two tokens: it would hold up the whole server."""
LANGUAGE_CLASS = "code"
_COLOURS = {
    "t-keyword": (Token.Keyword, Token.Operator.Word, Token.Comment.Preproc),
    "t-string": (Token.Literal.String, Token.Comment.PreprocFile),
    "t-comment": (Token.Comment,),
    "t-number": (Token.Literal.Number,),
    "t-name": (Token.Name.Function, Token.Name.Class, Token.Name.Decorator, Token.Name.Tag, Token.Name.Attribute),
    "t-deleted": (Token.Generic.Deleted,),
    "t-inserted": (Token.Generic.Inserted,),
}
"""What has a colour of its own in the styles; the first counts, for to Pygments `#include` is a comment. All else is
plain: to sanitise an element costs 10 us.
"""
TOKEN_CLASSES = frozenset(_COLOURS)
"""Ours have a prefix, so that no writer of a body borrows a class of the page."""

_LOOKED_AT_EVERY = 20
_LONG_RUN = re.compile(r"\s{80}|[^\n]{4000}")
"""Some lexers look through white space, or a line, again from each place in it."""
_PHP_MARK = re.compile(r"<\?(php\b|=)", re.IGNORECASE)


def highlighted(text: str, language: str, *, within_s: float = WITHIN_S) -> Markup:
    """`text` as HTML. It is plain without a language that is known, beyond HIGHLIGHTED_CHARACTERS, and after
    `within_s` of work, or WITHIN_S if that is less.
    """
    is_fit = language.lower() in LANGUAGES and len(text) <= HIGHLIGHTED_CHARACTERS and not _LONG_RUN.search(text)
    if not is_fit or within_s <= 0:
        return escape(text)
    lexer = _lexer(language.lower(), text)
    found = _within(lexer.get_tokens_unprocessed(text), time.thread_time() + min(within_s, WITHIN_S))
    if found is None or "".join(value for _, value in found) != text:
        return escape(text)
    runs = groupby(found, key=itemgetter(0))
    coloured = (_coloured(name, "".join(value for _, value in run)) for name, run in runs)
    return Markup("".join(coloured))  # noqa: S704  # each is escaped


def _lexer(language: str, text: str) -> Lexer:
    # Of PHP mostly a part is quoted, without the mark that it begins with in a file; `<?xml` in a string is none.
    options = {"startinline": _PHP_MARK.search(text) is None} if language == "php" else {}
    return get_lexer_by_name(language, **options)


def _within(tokens: Iterable[tuple[int, _TokenType, str]], deadline: float) -> list[tuple[str, str]] | None:
    """Class and text of each; None where the deadline passes. A lexer works between two tokens for as long as a regular
    expression takes.
    """
    found = []
    for number, (_, kind, value) in enumerate(tokens):
        if number % _LOOKED_AT_EVERY == 0 and time.thread_time() > deadline:
            return None
        found.append((_class_of(kind), value))
    return found


@cache
def _class_of(kind: _TokenType) -> str:
    return next((name for name, kinds in _COLOURS.items() if any(kind in one for one in kinds)), "")


def _coloured(name: str, value: str) -> str:
    """HTML; `name` is one of TOKEN_CLASSES, or none."""
    return f'<span class="{name}">{escape(value)}</span>' if name else str(escape(value))
