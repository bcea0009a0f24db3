from __future__ import annotations

import re
from importlib import resources

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from mcp_agent_mail.web.render.environment import environment, render

TEMPLATES = resources.files("mcp_agent_mail.web") / "templates"
NAMES = sorted(file.name for file in TEMPLATES.iterdir() if file.name.endswith(".html"))
ERROR = {"title": "t", "status": 400, "message": "m", "hint": "", "sign_in": None, "home": "/mail"}


def shown(template: str, **model: object) -> str:
    return environment().from_string(template).render(model)


def test_text_is_escaped_in_elements_and_attributes() -> None:
    assert (
        shown('<p title="{{ x }}">{{ x }}</p>', x="\"'<b>&")
        == '<p title="&#34;&#39;&lt;b&gt;&amp;">&#34;&#39;&lt;b&gt;&amp;</p>'
    )


def test_what_turns_or_hides_text_is_written_out() -> None:
    assert shown("{{ x }}", x="a\u202eb\u200b\x1b") == "a\\u202eb\\u200b\\x1b"
    assert shown("{{ x | join(' ') }}", x=["a\u202e", "b"]) == "a\\u202e b"


def test_what_was_made_safe_stays_as_it_is_and_none_is_nothing() -> None:
    assert shown("{{ x }}{{ y }}{{ z }}", x=Markup("<b>"), y=None, z=0) == "<b>0"


def test_what_the_person_wrote_is_sent_again_as_it_is_and_escaped() -> None:
    assert shown("{{ x | as_written }}", x='<b>\u202e"') == "&lt;b&gt;\u202e&#34;"


def test_what_peers_write_is_no_template() -> None:
    assert shown("{{ x }}", x="{{ 7*7 }}{% raw %}") == "{{ 7*7 }}{% raw %}"


def test_a_name_that_is_missing_is_a_bug() -> None:
    with pytest.raises(UndefinedError):
        render("error.html", {})


def test_half_of_a_pair_is_written_out() -> None:
    assert b"\\ud800" in render("error.html", {**ERROR, "message": "a\ud800"})


TOKENS = ('name="csrf"', "csrf(", "answer_fields(")
"""The last is a macro of ours, which has the token among its fields."""


@pytest.mark.parametrize("name", NAMES)
def test_no_template_has_script_style_or_handlers_of_its_own_or_vouches_for_text(name: str) -> None:
    text = (TEMPLATES / name).read_text(encoding="utf-8")

    assert re.findall(r"\|\s*safe\b|Markup|autoescape|<style|\sstyle=|\son\w+=|javascript:|srcdoc", text) == []
    assert re.findall(r"<script(?![^>]*\ssrc=\"{{ asset\()", text) == []
    assert re.findall(r"(?:href|src|action)=(?!\"[^\"]+\")", text) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_form_that_is_posted_holds_its_token(name: str) -> None:
    text = (TEMPLATES / name).read_text(encoding="utf-8")

    forms = re.findall(r"<form[^>]*method=\"post\".*?</form>", text, re.DOTALL)
    assert [form for form in forms if not any(one in form for one in TOKENS)] == []
    assert len(forms) == text.lower().count('method="post"')


@pytest.mark.parametrize("name", NAMES)
def test_every_template_can_be_read(name: str) -> None:
    assert environment().get_template(name) is not None
