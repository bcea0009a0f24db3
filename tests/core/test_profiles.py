from __future__ import annotations

import pytest

from mcp_agent_mail.core.profiles import Profiles, ToolProfile, UnknownProfile


@pytest.mark.parametrize(("name", "is_switched"), [("claims", True), (" Claims ", True), ("claim", False), ("", False)])
def test_a_profile_that_a_setting_opens_is_refused_with_that(name: str, is_switched: bool) -> None:
    with pytest.raises(UnknownProfile) as refused:
        Profiles().require(name)

    assert ("CLAIMS_ENABLED=true" in refused.value.hint) is is_switched


def test_one_that_is_served_is_found_in_any_letter_case() -> None:
    claims = ToolProfile(name="claims", tools=None)

    assert Profiles(also=(claims,)).require(" CLAIMS") is claims
