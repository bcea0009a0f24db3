from __future__ import annotations

import html
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Keyword, _TokenType

from mcp_agent_mail.web.assets import asset_set
from mcp_agent_mail.web.render import code
from mcp_agent_mail.web.render.code import HIGHLIGHTED_CHARACTERS, LANGUAGES, TOKEN_CLASSES, highlighted

PROGRAM = 'def total(items: list[int]) -> int:\n    return sum(items)  # "all" of <them> & more\n'


def text_of(shown: str) -> str:
    return html.unescape(re.sub(r"</?span[^>]*>", "", shown))


def test_code_has_colours_by_our_classes_alone_and_says_what_it_said() -> None:
    shown = str(highlighted(PROGRAM, "python"))

    assert '<span class="t-keyword">def</span>' in shown
    assert set(re.findall(r'class="([^"]*)"', shown)) <= TOKEN_CLASSES
    assert text_of(shown) == PROGRAM
    assert "<them>" not in shown


@pytest.mark.parametrize(
    ("language", "text", "shown"),
    [
        ("python", "if x not in y", "keyword if|keyword not|keyword in"),
        ("python", '@a\ndef f(b):\n    """c"""\n', 'name @a|keyword def|name f|string """c"""'),
        (
            "python",
            'class C: return 1.5 + "x"  # y',
            'keyword class|name C|keyword return|number 1.5|string "x"|comment # y',
        ),
        ("javascript", "let a = `x` + 12; // y", "keyword let|string `x`|number 12|comment // y"),
        ("go", 'func f() { return "x" } /* y */', 'keyword func|keyword return|string "x"|comment /* y */'),
        ("rust", "fn f() { 0x1f }", "keyword fn|name f|number 0x1f"),
        ("sql", "SELECT 1 FROM a WHERE b = 'x'", "keyword SELECT|number 1|keyword FROM|keyword WHERE|string 'x'"),
        ("bash", 'if true; then echo "x"; fi', 'keyword if|keyword then|string "x"|keyword fi'),
        ("json", '{"a": "x", "b": 12, "c": null}', 'name "a"|string "x"|name "b"|number 12|name "c"|keyword null'),
        ("yaml", 'a: "x" # y', 'name a|string "x"|comment # y'),
        ("c", "#include <a.h>\n", "keyword #include|string <a.h>|keyword \n"),
        ("c", "/* a */ 12", "comment /* a */|number 12"),
        ("html", '<p id="a">x</p><!-- y -->', 'name p|name id|string "a"|name p|comment <!-- y -->'),
        ("php", 'return "x";', 'keyword return|string "x"'),
        ("php", '<?php return "x";', 'keyword <?php|keyword return|string "x"'),
        ("php", '$x = "<?xml version=1?>"; return $x;', 'string "<?xml version=1?>"|keyword return'),
        ("php", "return 1; /* <? and <?phpinfo */", "keyword return|number 1|comment /* <? and <?phpinfo */"),
        ("php", '<b class="y"><?= "x" ?></b>', 'keyword <?|string "x"|keyword ?>'),
        ("php", '<b class="y"><?PHP return "x";', 'keyword <?PHP|keyword return|string "x"'),
        ("diff", "-a\n+b\n", "deleted -a|inserted +b"),
    ],
)
def test_what_has_a_colour_is_one_element_of_its_class_for_each_run_and_all_else_none(
    language: str, text: str, shown: str
) -> None:
    coloured = re.findall(r'<span class="t-([a-z]+)">([^<]*)</span>', str(highlighted(text, language)))

    assert "|".join(f"{kind} {html.unescape(run)}" for kind, run in coloured) == shown


def test_a_mark_to_begin_with_is_a_matter_of_php_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def lexer(language: str, **options: bool) -> Lexer:
        asked.append((language, options))
        return get_lexer_by_name(language, **options)

    monkeypatch.setattr(code, "get_lexer_by_name", lexer)
    for language, text in (("PHP", "return 1;"), ("php", "<?php return 1;"), ("python", "return 1")):
        highlighted(text, language)

    assert asked == [("php", {"startinline": True}), ("php", {"startinline": False}), ("python", {})]


def test_what_a_macro_says_is_no_comment() -> None:
    assert "t-comment" not in str(highlighted("#define A 1\n#include <a.h>\n", "c"))


def test_every_class_has_a_rule_in_the_styles() -> None:
    rules = asset_set().assets["frame.css"].content.decode()

    assert set(re.findall(r"\.(t-[a-z]+)\b", rules)) == TOKEN_CLASSES


@pytest.mark.parametrize("language", ["", "no-such-language", "x" * 500, "<b>", "../python"])
def test_without_a_language_that_is_known_it_is_plain(language: str) -> None:
    assert str(highlighted(PROGRAM, language)) == html.escape(PROGRAM).replace("&quot;", "&#34;").replace(
        "&#x27;", "&#39;"
    )


def test_what_is_large_stays_plain() -> None:
    text = "x = 1\n" * (HIGHLIGHTED_CHARACTERS // 6 + 1)

    assert "<span" not in highlighted(text, "python")


@pytest.mark.parametrize("run", ["\n" * 200, " " * 200, "x" * 5_000])
def test_what_holds_lexers_up_stays_plain(run: str) -> None:
    """One of them took seconds for a few thousand empty lines, between two tokens, where no deadline is seen."""
    assert "<span" not in highlighted(f"int a{run};", "cpp")
    assert "<span" in highlighted("int a;\n\n\n    int b;", "cpp")


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_language_that_is_known_has_colours(language: str) -> None:
    assert "<span" in highlighted('x = 1; # <b>\n-- "a"\n+ b: "y"\n', language.upper())


def test_nothing_is_coloured_where_no_time_is_left() -> None:
    assert "<span" not in highlighted(PROGRAM, "python", within_s=0.0)


def test_what_takes_long_stays_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "WITHIN_S", -1.0)

    assert "<span" not in highlighted(PROGRAM, "python")


@pytest.mark.parametrize("language", ["html", "php", "javascript", "xml", "css", "python", "bash", "diff", "yaml"])
def test_markup_in_code_is_escaped_in_every_language(language: str) -> None:
    hostile = "</span></code><script>alert(1)</script><img src=x onerror=alert(1)> \x00 {{7*7}}"

    shown = str(highlighted(hostile, language))

    assert text_of(shown) == hostile
    assert re.findall(r"<(?!/?span\b)", shown) == []


class LosingLexer(Lexer):  # type: ignore[misc]  # Pygments has no types
    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        yield 0, Keyword, text[:3]


def test_what_a_lexer_would_lose_is_shown_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "get_lexer_by_name", lambda _, **_options: LosingLexer())

    assert str(highlighted("<b>bold</b>", "python")) == "&lt;b&gt;bold&lt;/b&gt;"


def test_the_bounds_are_these_and_the_last_character_within_is_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (HIGHLIGHTED_CHARACTERS, code.WITHIN_S) == (102_400, 0.2)
    monkeypatch.setattr(code, "HIGHLIGHTED_CHARACTERS", len(PROGRAM))

    assert "<span" in highlighted(PROGRAM, "python")
    assert "<span" not in highlighted(PROGRAM + "\n", "python")


def test_the_time_is_looked_at_in_the_midst_of_the_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def later() -> float:
        """A tenth of a second passes each time."""
        asked.append(1)
        return len(asked) / 10

    monkeypatch.setattr(code, "time", SimpleNamespace(thread_time=later))

    assert "<span" not in highlighted("x = 1\n" * 1_000, "python")
    assert len(asked) == 4
