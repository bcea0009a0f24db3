from __future__ import annotations

import pytest

from mcp_agent_mail.web.addresses import SIGN_IN, SIGN_OUT
from mcp_agent_mail.web.routes import MAX_KEY_CHARACTERS, MOVED, ROUTES, PageRoute, find_route


def keys_at(path: str) -> tuple[str, dict[str, str]] | None:
    found = find_route(path)
    return None if found is None else (found[0].path, found[1])


def test_a_page_is_found_by_its_path_with_or_without_a_closing_slash() -> None:
    expected = ("/mail/{project}/message/{message}", {"project": "code-app", "message": "7"})

    assert keys_at("/mail/code-app/message/7") == expected
    assert keys_at("/mail/code-app/message/7/") == expected
    assert keys_at("/mail/") == ("/mail", {})


def test_a_quoted_slash_belongs_to_its_part() -> None:
    assert keys_at("/mail/code-app/thread/a%2Fb") == (
        "/mail/{project}/thread/{thread}",
        {"project": "code-app", "thread": "a/b"},
    )
    assert keys_at("/mail/code-app/thread/%ff") is not None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/nothing",
        "/mail/code-app/nothing/7",
        "/mail//message/7",
        "/mail/code-app/message",
        f"/mail/code-app/thread/{'x' * (MAX_KEY_CHARACTERS + 1)}",
    ],
)
def test_nothing_is_at_any_other_path(path: str) -> None:
    assert find_route(path) is None


def test_every_page_is_reached_by_its_own_path() -> None:
    for route in ROUTES:
        path = route.path.replace("{", "").replace("}", "")
        found = find_route(path)
        assert found is not None, route.path
        assert found[0] is route, route.path


def test_only_the_page_to_sign_in_at_is_open() -> None:
    assert [route.path for route in ROUTES if route.is_open] == [SIGN_IN]


def test_a_route_says_how_it_may_be_asked() -> None:
    async def page(_: object) -> None: ...

    assert PageRoute(path="/a", get=page).methods == ("GET", "HEAD")  # type: ignore[arg-type]
    assert next(route for route in ROUTES if route.path == SIGN_OUT).methods == ("POST",)
    assert next(route for route in ROUTES if route.path == SIGN_IN).methods == ("GET", "HEAD", "POST")


def test_what_moved_leads_to_a_page() -> None:
    assert [there for there in MOVED.values() if find_route(there) is None] == []
