from __future__ import annotations

from mcp_agent_mail.core.settings.names import FORMER, LATER, SETTINGS, WITHOUT_EFFECT, nearest_setting
from mcp_agent_mail.core.settings.rows import ROWS
from tests.core import settings_pages

_REMEDY = "run `python -m tests.core.settings_pages`"


def test_the_env_example_holds_the_rows() -> None:
    assert settings_pages.ENV_EXAMPLE.read_text(encoding="utf-8") == settings_pages.env_example(), _REMEDY


def test_the_reference_page_holds_the_rows() -> None:
    page = settings_pages.REFERENCE.read_text(encoding="utf-8")

    assert settings_pages.written_rows(page) == settings_pages.reference_rows(), _REMEDY


def test_a_name_is_a_row_or_later_or_former_or_without_effect_and_never_two_of_these() -> None:
    every = [*(row.name for row in ROWS), *LATER, *FORMER, *WITHOUT_EFFECT]

    assert len(every) == len(set(every))
    assert set(FORMER.values()) <= SETTINGS


def test_the_nearest_setting_is_at_most_two_edits_away() -> None:
    nearest = [nearest_setting(name) for name in ("HTTP_PORT", "HTTPPORTS", "HTP_PRT", "HTTP_PROXY", "PATH", "HOME")]

    assert nearest == ["HTTP_PORT", "HTTP_PORT", "HTTP_PORT", None, None, None]
