from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.settings.env_file import read_env_file
from mcp_agent_mail.core.settings.env_text import OWN_HEAD, env_text
from mcp_agent_mail.core.settings.rows import ROWS


def test_every_row_stands_once_as_a_comment_and_none_counts(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(env_text(OWN_HEAD))

    lines = (tmp_path / ".env").read_text().splitlines()
    assert read_env_file(tmp_path / ".env").lines == ()
    assert [sum(line.startswith(f"#{row.name}=") for line in lines) for row in ROWS] == [1] * len(ROWS)


def test_what_is_suggested_stays_a_comment_and_what_is_active_counts(tmp_path: Path) -> None:
    text = env_text(OWN_HEAD, suggested={"HTTP_BEARER_TOKEN": "a-token"}, active={"HTTP_PORT": "9000"})
    (tmp_path / ".env").write_text(text)

    assert "\n#HTTP_BEARER_TOKEN=a-token\n" in text
    assert read_env_file(tmp_path / ".env").values() == {"HTTP_PORT": "9000"}
