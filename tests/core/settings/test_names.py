from __future__ import annotations

import pytest

from mcp_agent_mail.core.settings.names import (
    FORMER,
    KNOWN,
    OUR_PREFIXES,
    SECRETS,
    SETTINGS,
    WITHOUT_EFFECT,
    is_ours,
    is_shared,
    nearest_setting,
)
from mcp_agent_mail.core.settings.rows import ROWS


def test_a_name_is_a_row_or_former_or_without_effect_and_never_two_of_these() -> None:
    every = [*(row.name for row in ROWS), *FORMER, *WITHOUT_EFFECT]

    assert len(every) == len(set(every))
    assert set(FORMER.values()) <= SETTINGS


def test_the_nearest_setting_is_at_most_two_edits_away() -> None:
    nearest = [nearest_setting(name) for name in ("HTTP_PORT", "HTTPPORTS", "HTP_PRT", "HTTP_PROXY", "PATH", "HOME")]

    assert nearest == ["HTTP_PORT", "HTTP_PORT", "HTTP_PORT", None, None, None]


def test_a_name_of_another_length_or_with_three_edits_is_no_slip() -> None:
    assert nearest_setting("HTTP_PORT_NUMBER") is None
    assert nearest_setting("HTTP_PXYZ") is None
    assert nearest_setting("XXXX_PORT") is None


def test_wherever_two_letters_are_wrong_the_setting_is_found() -> None:
    setting = "RETENTION_PURGE_ENABLED"
    places = [(first, last) for last in range(len(setting)) for first in range(last)]

    replaced = [f"{setting[:a]}#{setting[a + 1 : b]}#{setting[b + 1 :]}" for a, b in places]
    left_out = [f"{setting[:a]}{setting[a + 1 : b]}{setting[b + 1 :]}" for a, b in places]
    put_in = [f"{setting[:a]}#{setting[a:b]}#{setting[b:]}" for a, b in places]

    assert {nearest_setting(name) for name in [*replaced, *left_out, *put_in]} == {setting}


@pytest.mark.parametrize("name", ["HOST", "PORT", "LOG_LEVEL", "DATABASE_URL", "OTEL_SERVICE_NAME", "OPENAI_API_KEY"])
def test_a_name_that_other_programs_use_too_says_nothing_about_us(name: str) -> None:
    assert is_shared(name)
    assert name in KNOWN
    assert not is_ours(name)


@pytest.mark.parametrize("name", ["HTTP_PORT", "STORAGE_ROOT", "AM_SLOT", "MCP_MAIL_STORE", "WORKTREES_ENABLED"])
def test_a_name_that_only_we_use_is_ours(name: str) -> None:
    assert is_ours(name)


def test_a_name_that_nobody_knows_is_nobodys() -> None:
    assert not is_ours("HTTP_COLOUR")
    assert not is_shared("HTTP_COLOUR")


def test_every_secret_is_known_and_so_are_their_former_names() -> None:
    assert {row.name for row in ROWS if row.kind.secret} < SECRETS
    assert {"INTEGRATION_BEARER_TOKEN", "JWT_SECRET"} < SECRETS <= KNOWN


def test_our_prefixes_are_of_names_that_we_know() -> None:
    assert [prefix for prefix in OUR_PREFIXES if not any(name.startswith(prefix) for name in KNOWN)] == []
