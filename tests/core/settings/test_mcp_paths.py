from __future__ import annotations

import pytest

from mcp_agent_mail.core.settings.mcp_paths import with_mcp_path, without_mcp_path


@pytest.mark.parametrize(
    ("url", "bare", "spoken"),
    [
        ("http://h:1", "http://h:1", "http://h:1/mcp"),
        ("http://h:1/", "http://h:1", "http://h:1/mcp"),
        ("http://h:1/mcp", "http://h:1", "http://h:1/mcp"),
        ("http://h:1/api/", "http://h:1", "http://h:1/api"),
        ("http://h:1/mail", "http://h:1", "http://h:1/mail"),
        ("http://h:1/below/mcp", "http://h:1/below", "http://h:1/below/mcp"),
        ("http://h:1/other", "http://h:1/other", "http://h:1/other/mcp"),
    ],
)
def test_an_address_is_understood_with_each_path_and_without(url: str, bare: str, spoken: str) -> None:
    assert without_mcp_path(url, "/mail/") == bare
    assert with_mcp_path(url, "/mail/") == spoken


def test_a_path_that_is_none_ends_no_address() -> None:
    assert without_mcp_path("http://h:1", "/") == "http://h:1"
    assert with_mcp_path("http://h:1", "") == "http://h:1/mcp"
