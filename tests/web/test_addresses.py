from __future__ import annotations

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.web.addresses import (
    agent_url,
    message_url,
    own_path,
    project_url,
    thread_url,
    with_more,
    with_query,
)


def test_each_part_of_an_address_is_quoted() -> None:
    assert message_url("code-app", MessageId(7)) == "/mail/code-app/message/7"
    assert thread_url("code-app", "a/b?c#d e\u00e9..") == "/mail/code-app/thread/a%2Fb%3Fc%23d%20e%C3%A9.."
    assert agent_url("code-app", "BlueLake") == "/mail/code-app/agents/BlueLake"
    assert project_url("..", '"><script>') == "/mail/../%22%3E%3Cscript%3E"


def test_what_has_no_value_is_not_asked() -> None:
    assert with_query("/mail", {"q": None, "box": "", "before": 0}) == "/mail?before=0"
    assert with_query("/mail", {"q": ""}) == "/mail"
    assert with_query("/mail", {"q": "a&b=c"}) == "/mail?q=a%26b%3Dc"


def test_what_is_asked_more_stands_beside_what_was_asked_or_in_its_place() -> None:
    assert (
        with_more("/mail?box=needs&did=denied", {"did": "approved", "mail": 1}) == "/mail?box=needs&did=approved&mail=1"
    )
    assert with_more("/mail", {"reminded": "0"}) == "/mail?reminded=0"


@pytest.mark.parametrize("path", ["/mail", "/mail?q=a//b", "/mail/code-app/message/7", "/mail/now?x=%2f"])
def test_a_path_of_ours_is_gone_back_to(path: str) -> None:
    assert own_path(path) == path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "//evil.example",
        "/mail//evil.example",
        "/mailbox",
        "/mail\\evil",
        "/mail/\\evil.example",
        "/mail?q=a\\b",
        "/mail/\r\nset-cookie: a=b",
        "/mail/\u202e",
        "https://evil.example/mail",
        "javascript:alert(1)//mail",
        "mail",
        "/mail/" + "x" * 2_000,
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert own_path(text) == "/mail"
