from __future__ import annotations

import pytest

from mcp_agent_mail.core.settings.url_text import SecretAddress, mask_url_paths


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


def test_a_url_that_may_hold_a_secret_shows_its_host_alone_and_gives_itself_away_when_asked() -> None:
    url = SecretAddress("https://a.example/T0/s3cret?k=1")

    assert f"{url} {url!r}" == "https://a.example/*** SecretAddress(https://a.example/***)"
    assert url.reveal() == "https://a.example/T0/s3cret?k=1"
