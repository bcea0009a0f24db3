from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import IssuedTokenId
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import (
    IssuedToken,
    UnfitLifetime,
    UnfitRole,
    choose_role,
    read_lifetime,
)

TOKEN = IssuedToken(
    id=IssuedTokenId(1),
    role=Role.READER,
    agent_id=None,
    agent_name=None,
    project_id=None,
    project=None,
    note="",
    created_ts=Micros(1),
    expires_ts=Micros(100),
    revoked_ts=None,
    last_used_ts=None,
)


def test_a_token_is_in_force_until_the_very_instant_at_which_it_expires() -> None:
    assert (TOKEN.is_live(Micros(99)), TOKEN.is_live(Micros(100)), TOKEN.is_live(Micros(101))) == (True, False, False)
    assert replace(TOKEN, expires_ts=None).is_live(Micros(1 << 60))


def test_a_revoked_token_is_not_in_force_whatever_its_time_says() -> None:
    assert not replace(TOKEN, revoked_ts=Micros(2)).is_live(Micros(3))
    assert not replace(TOKEN, revoked_ts=Micros(2), expires_ts=None).is_live(Micros(1))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90d", 7_776_000), ("12h", 43_200), ("30m", 1_800), ("60s", 60), (" 1D ", 86_400), ("3650d", 315_360_000)],
)
def test_a_length_of_time_is_a_number_and_its_unit(text: str, seconds: int) -> None:
    assert read_lifetime(text) == seconds


def test_never_is_no_end() -> None:
    assert read_lifetime("Never ") is None


@pytest.mark.parametrize(
    "text", ["", "90", "d", "1x", "-1d", "1.5d", "1d2h", "0d", "59s", "3651d", "٣d", "9999999999d", "1 d", "90d\n90d"]
)
def test_what_is_no_length_or_none_that_a_token_may_have_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UnfitLifetime) as refusal:
        read_lifetime(text)

    assert "90d, 12h or 30m" in refusal.value.hint


def test_an_agents_token_is_a_writers_and_any_other_a_readers_unless_said() -> None:
    assert (choose_role(None, is_agents=True), choose_role(None, is_agents=False)) == (Role.WRITER, Role.READER)
    assert [choose_role(word, is_agents=False) for word in ("reader", "Writer", " operator ")] == list(Role)
    assert choose_role("reader", is_agents=True) is Role.READER


def test_the_operators_role_is_no_agents_and_what_is_none_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnfitRole, match="never the operator's") as agents:
        choose_role("operator", is_agents=True)
    with pytest.raises(UnfitRole, match="no role") as unknown:
        choose_role("admin", is_agents=False)

    assert agents.value.data["accepted"] == ["reader", "writer"]
    assert unknown.value.data["accepted"] == ["reader", "writer", "operator"]
