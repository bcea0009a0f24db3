from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.domain.archive_format.months import month_folders, month_of, require_month


@pytest.mark.parametrize(
    ("path", "month"),
    [
        ("messages/2026/11/0-499/a.md", "2026-11"),
        ("agents/BlueLake/inbox/2026/01/0-499/a.md", "2026-01"),
        ("file_reservations/released/2025/12/4.json", "2025-12"),
        ("agents/BlueLake/profile.json", None),
        ("file_reservations/4.json", None),
        ("archive.json", None),
    ],
)
def test_a_file_lies_in_its_month_or_in_none(path: str, month: str | None) -> None:
    assert month_of(path) == month


def test_a_month_is_taken_with_blanks_around_it_and_anything_else_is_refused() -> None:
    assert require_month(" 2026-11 ") == "2026-11"
    for text in ("2026-13", "2026-1", "26-11", "november", "2026-11-01"):
        with pytest.raises(InvalidInput):
            require_month(text)


def test_all_that_lies_in_a_month_lies_in_its_folders() -> None:
    folders = list(month_folders("2026-11", ["BlueLake"]))

    assert "messages/2026/11" in folders
    assert "agents/BlueLake/inbox/2026/11" in folders
    assert {month_of(f"{folder}/x") for folder in folders} == {"2026-11"}
