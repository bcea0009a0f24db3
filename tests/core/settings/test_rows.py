from __future__ import annotations

import itertools

from mcp_agent_mail.core.settings.rows import ROWS
from tests.core import settings_pages

_REMEDY = "run `python -m tests.core.settings_pages`"


def test_the_env_example_holds_the_rows() -> None:
    assert settings_pages.ENV_EXAMPLE.read_text(encoding="utf-8") == settings_pages.env_example(), _REMEDY


def test_the_reference_page_holds_the_rows() -> None:
    page = settings_pages.REFERENCE.read_text(encoding="utf-8")

    assert settings_pages.written_rows(page) == settings_pages.reference_rows(), _REMEDY


def test_the_rows_of_a_group_stand_together() -> None:
    groups = [group for group, _ in itertools.groupby(ROWS, key=lambda row: row.group)]

    assert sorted(groups) == sorted(set(groups))
