from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.file_edit import differences, put_into, take_out
from tests.clients.setup.homes import wishes

HOME = Path("/home/me")


def test_two_parts_of_one_file_come_and_go_together() -> None:
    both = wishes(HOME, "gemini")
    assert len({wish.path for wish in both}) == 1

    content = put_into(None, both)

    assert [differences(content, wish) for wish in both] == [[], []]
    assert take_out(content, both, None) is None
    assert take_out(content, both[:1], None) is not None


def test_no_file_lacks_all_of_it() -> None:
    (wish, *_) = wishes(HOME, "codex")

    assert differences(None, wish) == [Difference(what="config.toml", line=None)]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnfitText, match="UTF-8"):
        put_into(b"\xff", wishes(HOME, "claude")[:1])
