from __future__ import annotations

from mcp_agent_mail.web.cookies import (
    FORM_COOKIE,
    MAX_COOKIE,
    MOST_OF_A_NAME,
    SESSION_COOKIE,
    cookie_name,
    forget_cookie,
    read_cookies,
    set_cookie,
)
from tests.web.requests import a_request


def test_a_session_is_for_this_port_below_this_path_and_not_for_scripts() -> None:
    name, value = set_cookie(a_request(port=8765), SESSION_COOKIE, "secret", path="/mail")

    assert name == "set-cookie"
    assert value == "agent_mail_session_8765=secret; Path=/mail; HttpOnly; SameSite=Strict"


def test_over_https_it_is_for_https_alone() -> None:
    _, value = set_cookie(a_request(is_secure=True), SESSION_COOKIE, "secret", path="/mail")

    assert value.endswith("; HttpOnly; SameSite=Strict; Secure")


def test_one_that_lasts_says_how_long_and_one_that_is_forgotten_lasts_not() -> None:
    kept = set_cookie(a_request(), FORM_COOKIE, "secret", path="/mail/sign-in", lasts_s=3_600)
    gone = forget_cookie(a_request(), FORM_COOKIE, path="/mail/sign-in")

    assert kept[1].endswith("; Max-Age=3600")
    assert gone[1] == "agent_mail_form_8765=; Path=/mail/sign-in; HttpOnly; SameSite=Strict; Max-Age=0"


def test_servers_of_one_machine_keep_theirs_apart() -> None:
    assert cookie_name(SESSION_COOKIE, 8765) != cookie_name(SESSION_COOKIE, 8766)


def test_all_of_a_name_are_read_each_once_in_the_order_sent() -> None:
    assert read_cookies("a=1; b=2;a=3 ; aa=5; a=1; c=x=y", "a") == ["1", "3"]
    assert read_cookies("a=1; b=2;a=3 ; c=x=y", "c") == ["x=y"]
    assert read_cookies("; ".join(f"a={number}" for number in range(999)), "a")[-1] == str(MOST_OF_A_NAME - 1)


def test_what_is_no_cookie_or_too_long_is_none() -> None:
    assert read_cookies("", "a") == []
    assert read_cookies("; ;a", "a") == []
    assert read_cookies(f"a={'x' * (MAX_COOKIE + 1)}; a={'x' * MAX_COOKIE}", "a") == ["x" * MAX_COOKIE]
