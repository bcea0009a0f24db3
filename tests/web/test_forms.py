from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.web.forms import ForeignForm, form_token, require_own_form
from mcp_agent_mail.web.request import PageRequest
from tests.web.requests import OWN, SECRET, a_request

ACTION = "/mail/sign-out"


def sent(token: str | None = None, **given: Any) -> PageRequest:
    """Our own form of ACTION, unless said otherwise."""
    own: dict[str, Any] = {"method": "POST", "path": ACTION, "origin": OWN, "fetch_site": "same-origin"}
    token = form_token(SECRET, ACTION) if token is None else token
    return a_request(**{"fields": {"csrf": token}, **own, **given})


def refused(request: PageRequest) -> bool:
    try:
        require_own_form(request)
    except ForeignForm as error:
        return bool(error.hint)
    return False


def test_our_own_form_is_taken() -> None:
    assert not refused(sent())


@pytest.mark.parametrize("fetch_site", ["same-site", "cross-site", "none", ""])
def test_what_the_browser_says_comes_from_elsewhere_is_refused(fetch_site: str) -> None:
    assert refused(sent(fetch_site=fetch_site))


def test_a_browser_that_does_not_say_so_is_judged_by_the_rest() -> None:
    assert not refused(sent(fetch_site=None))


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://127.0.0.1:8766",
        "http://127.0.0.1",
        "https://127.0.0.1:8765",
        "http://localhost:8765",
        "http://127.0.0.1:8765.evil.example",
        "http://127.0.0.1:8765/",
        "http://evil.example",
    ],
)
def test_another_origin_is_refused_by_port_and_scheme_too(origin: str) -> None:
    assert refused(sent(origin=origin))


def test_without_an_origin_the_referer_counts() -> None:
    assert not refused(sent(origin=None, referer=f"{OWN}/mail?q=words"))


@pytest.mark.parametrize(
    "referer", [None, "", "/mail", "http://127.0.0.1:8766/mail", "http://127.0.0.1:8765@evil.example/", "http://[", "x"]
)
def test_without_an_origin_another_referer_or_none_is_refused(referer: str | None) -> None:
    assert refused(sent(origin=None, referer=referer))


@pytest.mark.parametrize("origin", ["http://evil.example", "null", ""])
def test_a_referer_of_ours_does_not_help_another_origin_nor_an_empty_one(origin: str) -> None:
    assert refused(sent(origin=origin, referer=f"{OWN}/mail"))


def test_the_host_of_a_referer_is_the_same_in_any_letter_case() -> None:
    assert not refused(
        sent(origin=None, referer="http://LocalHost:8765/mail", own_origins=frozenset({"http://localhost:8765"}))
    )


@pytest.mark.parametrize(
    "token",
    [
        "",
        "0" * 64,
        form_token("ams_another-browsers", ACTION),
        form_token(SECRET, "/mail/sign-in"),
        form_token(SECRET, ACTION).upper(),
        form_token(SECRET, ACTION)[:-1],
        "\u00e9\ud800",
    ],
)
def test_no_token_and_those_of_another_session_or_action_are_refused(token: str) -> None:
    assert refused(sent(token))


def test_without_a_secret_no_token_is_right() -> None:
    assert refused(sent(form_token("", ACTION), secret=None))


def test_the_last_of_two_tokens_counts() -> None:
    right = form_token(SECRET, ACTION)

    assert refused(sent(form={"csrf": (right, "wrong")}))
    assert not refused(sent(form={"csrf": ("wrong", right)}))
