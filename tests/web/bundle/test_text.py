from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.features.sharing.redaction import Redactor
from mcp_agent_mail.web.bundle.text import shown_body, text_of
from mcp_agent_mail.web.render.markdown import SHOWN_CHARACTERS
from tests.features.sharing.planted_secrets import FORMS, PlantedSecret, planted

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


_SECRETS = st.sampled_from([secret for secret in planted(len(FORMS)) if "\n" not in secret.told])
_ROUND = st.sampled_from(
    [
        "| name | value |\n|---|---|\n| db_password | {core} |\n| {told} | b |",
        "name | value\n--- | ---\n**password** | `{core}`",
        "| password |  {core} |\n|-|-|",
        "```yaml\npassword: |\n  {core}\n```\n> {told}",
        "1. password:\n   {core}\n2. {told}",
        '[password]: {core} "{told}"\n\nSee [password].',
        "mysql --password \\\n  {core}\n\n`{told}`",
        "[a]({told}) **password:** *{core}*",
        "password: ``some {core}``",
        "<b>{told}</b> <!-- password={core} -->",
    ]
)


@given(secret=_SECRETS, parts=st.lists(_ROUND, min_size=1, max_size=3))
def test_nothing_that_is_a_secret_as_written_or_as_seen_is_shown(secret: PlantedSecret, parts: list[str]) -> None:
    body = "\n\n".join(parts).replace("{told}", secret.told).replace("{core}", secret.core)

    shown = shown_body(body, Redactor({}))

    assert secret.core not in str(shown.html)
    assert secret.core not in shown.text


def test_a_table_of_secrets_stays_a_table() -> None:
    shown = shown_body("| name | value |\n|---|---|\n| db_password | hunter2xyz |\n| x | y |", Redactor({}))

    assert str(shown.html).count("<td>") == 4
    assert "<td>REDACTED</td>" in str(shown.html)


def test_of_a_body_that_puts_very_many_secrets_together_nothing_is_shown() -> None:
    body = "".join(f"password: ``some word{number}``\n\n" for number in range(501))

    assert shown_body(body, Redactor({})).text == "REDACTED"


_PUT_TOGETHER = f"s&#107;-ant-{_CORE}"


def _table(number: int, columns: int, rows: int) -> str:
    """A secret that is a table to who reads it alone."""
    cells = "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|x\n" * rows
    return f'password="""x{number}\n\n{cells}\n"""\n\n'


def test_a_body_that_is_too_much_work_is_text_without_what_entities_put_together() -> None:
    body = f"{_PUT_TOGETHER}\n\n{_table(0, 2_000, 2_000)}and on"

    shown = shown_body(body, Redactor({}))

    assert shown.html is None
    assert "|a" not in shown.text
    assert _CORE not in shown.text
    assert shown.text.split() == ["REDACTED", 'password="""REDACTED"""', "and", "on"]


@pytest.mark.parametrize(("size", "times"), [(90, 300), (400, 80)])
def test_of_a_body_whose_secrets_are_too_much_work_by_themselves_nothing_is_shown(size: int, times: int) -> None:
    """Within a fence each is a few lines. Seen alone all are many times what a page may be, or each is too much."""
    fenced = "".join(_table(number, size, size) for number in range(times))

    shown = shown_body(f"{_PUT_TOGETHER}\n\n~~~\n{fenced}~~~\n", Redactor({}))

    assert shown.html is None
    assert shown.text == "REDACTED"


def test_a_secret_of_very_many_words_is_looked_for_once_along_the_text() -> None:
    body = f'{_PUT_TOGETHER} password="""{"x " * 9_000}y""" {"x " * 40_000}'

    shown = shown_body(body, Redactor({}))

    assert shown.text.split()[:2] == ["REDACTED", 'password="""REDACTED"""']
    assert _CORE not in str(shown.html)
