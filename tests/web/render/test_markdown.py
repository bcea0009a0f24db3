from __future__ import annotations

import re

import pytest

from mcp_agent_mail.web.render.markdown import SHOWN_CHARACTERS, body_html, rendered, sanitised


def test_a_body_has_paragraphs_lists_tables_tasks_and_code() -> None:
    shown = str(
        body_html(
            "# Plan\n\n**now**\n\n- [x] done\n- [ ] open\n\n"
            "| a | b |\n|--:|---|\n| 1 | ~~2~~ |\n\n```python\nx = 1\n```\n"
        )
    )

    assert "<h1>Plan</h1>" in shown
    assert "<strong>now</strong>" in shown
    assert len(re.findall(r'<input [^>]*type="checkbox"', shown)) == 2
    assert len(re.findall(r"<input [^>]*disabled", shown)) == 2
    assert re.findall(r'aria-label="([^"]*)"', shown) == ["done", "to do"]
    assert len(re.findall(r"<input [^>]*checked", shown)) == 1
    assert '<div class="scroll" tabindex="0"><table>' in shown
    assert re.search("<(s|del)>2</", shown)
    assert '<pre tabindex="0"><code class="code">' in shown
    assert 'class="t-' in shown


def test_html_in_a_body_is_text() -> None:
    shown = str(body_html("<b>bold</b> <script>alert(1)</script>\n\n<div onclick=x>\nblock\n</div>\n"))

    assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    assert re.findall(r"<(?:b|script|div)\b", shown) == []


def test_a_link_says_where_it_leads_and_tells_nobody_whence() -> None:
    shown = str(body_html("[the bank](https://user@evil.example:8080/x) and <https://good.example/a>"))

    assert shown.count('rel="noopener noreferrer nofollow"') == 2
    assert '>the bank</a> <span class="host">evil.example:8080</span>' in shown
    assert ">https://good.example/a</a>" in shown
    assert shown.count('class="host"') == 1


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("[https://good.example/login](https://t.example/abc)", "t.example"),
        ("[https://good.example/?u=evil.example](https://evil.example)", "evil.example"),
        ("[see https://evil.example](https://evil.example)", "evil.example"),
        ("[a https://good.example](https://good.example)", "good.example"),
        ("[https://good.example@evil.example](https://evil.example)", "evil.example"),
        ("[https://good.example\\\\@evil.example](https://evil.example)", "evil.example"),
        ("[good.example **is** evil.example](https://evil.example)", "evil.example"),
        ("[**a**https://evil.example](https://evil.example)", "evil.example"),
        ("[https://evil.example](https://evil.example:8080)", "evil.example:8080"),
        ("[http://](https://evil.example)", "evil.example"),
        ("[http://\\[](https://evil.example)", "evil.example"),
    ],
)
def test_the_words_of_a_link_do_not_hide_where_it_leads(text: str, host: str) -> None:
    assert f'</a> <span class="host">{host}</span>' in body_html(text)


@pytest.mark.parametrize(
    "text",
    [
        "<https://good.example/a>",
        "[https://good.example](https://good.example/a?b)",
        "[HTTPS://Good.example/x](https://good.example/a)",
        "[good.example](https://good.example/a)",
        "<a@good.example>",
    ],
)
def test_a_link_whose_words_are_its_address_says_it_once(text: str) -> None:
    assert "host" not in body_html(text).replace('"https:', "")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "&#106;avascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://a/b",
        "/mail/sign-out",
        "//evil.example/x",
        "?q=1",
        "#m1",
        "http:",
        "https:///x",
        "http://[",
    ],
)
def test_no_link_leads_anywhere_but_to_the_web_or_to_somebody(url: str) -> None:
    for text in (f"[words]({url})", f"[words](<{url}>)", f"<{url}>", f"![words]({url})", f"[words]: {url}\n\n[words]"):
        assert "href=" not in body_html(text), text


def test_mail_to_somebody_is_a_link() -> None:
    assert 'href="mailto:a@b.example?subject=x"' in body_html("[write](mailto:a@b.example?subject=x)")


def test_an_image_is_a_link_that_loads_nothing() -> None:
    shown = str(body_html('![a "chart"](https://tracker.example/p.png "title")'))

    assert "<img" not in shown
    assert '<span class="host">image at tracker.example</span>' in shown
    assert 'href="https://tracker.example/p.png"' in shown


def test_what_turns_or_hides_text_is_written_out() -> None:
    shown = str(body_html("ab\u202ecd\u200b\x1b[31m [x\u2066y](https://a.example)"))

    assert not re.search("[\u202e\u200b\x1b\u2066]", shown)
    assert "\\u202e" in shown
    assert "\\x1b" in shown


def test_what_is_beyond_the_bound_is_left_out() -> None:
    shown = body_html("x" * SHOWN_CHARACTERS + "BEHIND")

    assert "BEHIND" not in shown
    assert shown.count("x") == SHOWN_CHARACTERS


@pytest.mark.parametrize(
    ("html", "left"),
    [
        ("<p onclick='x' title=t lang=ar>a</p>", "<p>a</p>"),
        ("<p style='color:red' id='main' class='notice bad'>a</p>", "<p>a</p>"),
        ("<script>alert(1)</script>b", "b"),
        ("<style>*{}</style>b", "b"),
        ("<svg><script>x</script></svg>c", "c"),
        ("<img src=x onerror=y>c", "c"),
        ("<iframe src='//a'></iframe>c", "c"),
        ("<form action=/mail/sign-out method=post><button>b</button></form>", "b"),
        ("<!-- a -->c", "c"),
        ("<a href='javascript:x'>a</a>", '<a rel="noopener noreferrer nofollow">a</a>'),
        ("<a href='data:text/html,x'>a</a>", '<a rel="noopener noreferrer nofollow">a</a>'),
        (
            "<a href='https://a.example' title=t target=_blank>a</a>",
            '<a href="https://a.example" rel="noopener noreferrer nofollow">a</a>',
        ),
        ("<input type=text name=csrf value=x>", "<input>"),
        ("<span class='t-name held'>a</span>", '<span class="t-name">a</span>'),
        ("<base href='//evil.example'><meta http-equiv=refresh content=0><link rel=stylesheet href=x>d", "d"),
    ],
)
def test_the_allow_list_alone_lets_nothing_through(html: str, left: str) -> None:
    assert sanitised(html) == left


@pytest.mark.parametrize("mark", ["> ", "- ", "1. "])
@pytest.mark.parametrize("depth", [1, 9, 10, 19, 20, 21, 2_000])
def test_what_stands_deep_in_quotes_and_lists_is_seen(mark: str, depth: int) -> None:
    assert "DEEP" in body_html(mark * depth + "DEEP")


def test_a_body_of_marks_alone_is_rendered() -> None:
    assert "DEEP" in body_html("[" * 5_000 + "*" * 5_000 + "![" * 5_000 + "DEEP" + "](" * 5_000)


def test_half_of_a_pair_is_written_out() -> None:
    assert "\\ud800" in body_html("a\ud800b")


TELLING = [
    (
        "[x](https://a'b&amp;lt;.example/?a&lt=&quot;&lt;)",
        ("https://a&#39;b&amp;lt;.example/?a&amp;lt=%22%3C", "x", "a&#39;b&amp;lt;.example"),
    ),
    ("[x](https://a&#8238;b.example/)", ("https://xn--ab-g4t.example/", "x", "xn--ab-g4t.example")),
    (
        "![a<b>\"c&lt;i&#8238;](https://a'b&amp;lt;.example/?a&b)",
        (
            "https://a&#39;b&amp;lt;.example/?a&amp;b",
            "a&lt;b&gt;&#34;c&lt;i\\u202e",
            "image at a&#39;b&amp;lt;.example",
        ),
    ),
]
"""A body, and of the link in it: where it leads, what it says and the host beside it, all as HTML."""


@pytest.mark.parametrize(("text", "link"), TELLING)
def test_the_parser_alone_lets_nothing_through_in_a_link(text: str, link: tuple[str, str, str]) -> None:
    address, words, host = link

    assert rendered(text)[0] == f'<p><a href="{address}">{words}</a> <span class="host">{host}</span></p>\n'


def test_the_parser_alone_makes_no_link_of_an_image_that_leads_nowhere() -> None:
    assert rendered("![a<b>](relative)")[0] == "<p>![a&lt;b&gt;](relative)</p>\n"


def test_a_column_is_aligned_as_its_writer_said() -> None:
    shown = body_html("|step|took|\n|:-:|--:|\n|a|12 ms|\n")

    assert '<th align="center">step</th>' in shown
    assert '<td align="right">12 ms</td>' in shown
    assert "style" not in shown
    assert sanitised('<table><tr><td align="x" style="color:red">a</td></tr></table>').count("=") == 0


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("[http://good.com%E3%80%82evil.com/](http://good.com%E3%80%82evil.com/)", "good.com.evil.com"),
        (r"[http://evil%2ecom/](http://evil%2ecom/)", "evil.com"),
        ("[https://good.com/](http://%67ood.com/)", "good.com"),
        ("[https://good.com/](mailto://good.com/@evil)", "//good.com/@evil"),
        ("[a](http://good.com%40evil.com/)", "good.com%40evil.com"),
    ],
)
def test_the_host_is_the_one_that_browsers_go_to(text: str, host: str) -> None:
    assert f'<span class="host">{host}</span>' in body_html(text)
