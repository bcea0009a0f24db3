"""What WEBHOOK_URLS and WEBHOOK_SECRET can be; the other rows have kinds that are everybody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.kinds import BadValue, PathContext, Secret
from mcp_agent_mail.core.settings.rows_delivery import WEBHOOK_KEY, WEBHOOK_TARGETS
from mcp_agent_mail.core.settings.url_text import SecretAddress

HERE = PathContext(folder=Path("/"), home=Path("/"))


def test_urls_are_a_list_in_which_each_counts_once() -> None:
    urls = WEBHOOK_TARGETS.parse(" https://a.example/x , http://b.example:8080?y=1,https://a.example/x,", HERE)

    assert urls == (SecretAddress("https://a.example/x"), SecretAddress("http://b.example:8080?y=1"))


def test_a_url_that_is_none_is_told_by_its_place_and_not_shown() -> None:
    with pytest.raises(BadValue, match="The one in place 2 is none") as refused:
        WEBHOOK_TARGETS.parse("https://a.example/,https://user:secret@b.example/", HERE)

    assert "secret" not in str(refused.value)


def test_what_would_begin_another_line_of_a_request_is_no_url() -> None:
    for hostile in (
        "https://a.example/\r\nX: y",
        "https://a.example/a b",
        "https://a.example/\x00",
        "https://a.example\\@b/",
    ):
        with pytest.raises(BadValue):
            WEBHOOK_TARGETS.parse(hostile, HERE)


def test_a_secret_is_long_enough_to_be_one() -> None:
    assert WEBHOOK_KEY.parse("k" * 32, HERE) == Secret("k" * 32)
    with pytest.raises(BadValue, match="too short"):
        WEBHOOK_KEY.parse("k" * 31, HERE)
