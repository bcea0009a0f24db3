from __future__ import annotations

import pytest

from mcp_agent_mail.core.settings.url_text import mask_url_paths


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://a.example/x,http://b.example:8080?k=1", "https://a.example/***,http://b.example:8080/***"),
        ("https://a.example/, https://a.example", "https://a.example/, https://a.example"),
        ("https://me:p/w@a.example/x", "https://***"),
        ("a.example/x", "***"),
        ("https://a.example#x", "https://a.example/***"),
        ("", ""),
    ],
)
def test_nothing_behind_a_host_is_shown(text: str, shown: str) -> None:
    assert mask_url_paths(text) == shown
