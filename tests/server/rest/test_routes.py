from __future__ import annotations

import pytest

from mcp_agent_mail.server.rest.routes import PREFIX, ROUTES, RestRoute, RouteAnswer, ToolCall


def route(path: str) -> RestRoute:
    return RestRoute(method="POST", path=path, target=ToolCall(tool="any"))


@pytest.mark.parametrize(
    ("path", "asked", "keys"),
    [
        ("inbox", "inbox", {}),
        ("inbox", "inbox/", None),
        ("inbox", "Inbox", None),
        ("messages/{id}", "messages/7", {"id": "7"}),
        ("messages/{id}", "messages/a b", {"id": "a b"}),
        ("messages/{id}", "messages/", None),
        ("messages/{id}/ack", "messages/7/ack", {"id": "7"}),
        ("messages/{id}/ack", "messages//ack", None),
        ("messages/{id}/ack", "messages/7/8/ack", None),
    ],
)
def test_a_path_is_a_routes_as_a_whole(path: str, asked: str, keys: dict[str, str] | None) -> None:
    assert route(path).match(PREFIX + asked) == keys


def test_what_does_not_begin_with_the_prefix_is_no_routes() -> None:
    assert route("inbox").match("inbox") is None
    assert route("rest/{a}/{b}").match("/rest/v2/inbox") is None


def test_no_two_rows_answer_the_same_request() -> None:
    for one in ROUTES:
        filled = PREFIX + one.path.replace("{id}", "7")
        assert [other for other in ROUTES if other.method == one.method and other.match(filled) is not None] == [one]


def test_a_stream_is_not_asked_for_by_head() -> None:
    stream = RouteAnswer(name="s", title="", description="", is_stream=True)

    assert RestRoute(method="GET", path="s", target=stream).methods == ("GET",)
    assert RestRoute(method="GET", path="s", target=ToolCall(tool="s")).methods == ("GET", "HEAD")
    assert route("s").methods == ("POST",)
