from __future__ import annotations

import pytest

from mcp_agent_mail.features.sharing.redaction import Redactor
from mcp_agent_mail.web.bundle.text import shown_body, text_of
from mcp_agent_mail.web.render.markdown import SHOWN_CHARACTERS

_CORE = "Zq8vGKxanaLHVAGtyjqG2cdL"


def test_what_one_sees_is_text_and_where_links_lead_without_the_hosts_told_behind_them() -> None:
    html = '<p>a<strong>b</strong><a href="https://h/x">c</a> <span class="host">h</span>d</p><p>e</p>'

    assert text_of(html).split() == ["abcd", "e", "https://h/x"]


@pytest.mark.parametrize(
    "body",
    [
        f"sk-[ant](https://example.com/)-{_CORE}",
        f"s&#107;-ant-{_CORE}",
        f"sk-ant-{_CORE[:8]}[{_CORE[8:12]}](https://example.com){_CORE[12:]}",
        f"sk\u200b-ant-{_CORE[:8]}&#{ord(_CORE[8])};{_CORE[9:]}",
        f"[a](https://h/?x=1&to&#107;en={_CORE})",
    ],
)
@pytest.mark.parametrize("filler", ["", "word " * (SHOWN_CHARACTERS // 5 + 1)])
def test_a_secret_that_only_the_page_puts_together_is_not_shown(body: str, filler: str) -> None:
    shown = shown_body(f"{filler}{body}", Redactor({}))

    assert _CORE[9:] not in str(shown.html)
    assert _CORE[13:] not in shown.text


def test_markdown_stays_markdown_around_a_redacted_secret() -> None:
    shown = shown_body(f"**Mind** `sk-ant-{_CORE}`", Redactor({}))

    assert str(shown.html) == "<p><strong>Mind</strong> <code>REDACTED</code></p>\n"
    assert shown.text.split() == ["Mind", "REDACTED"]
