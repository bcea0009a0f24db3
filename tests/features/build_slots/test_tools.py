from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from tests.features.build_slots.harness import open_build_slots


async def test_a_slot_is_held_alone_for_an_hour_prolonged_by_half_of_one_and_given_back(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        acquired = await harness.does("acquire", "BlueLake")
        harness.clock.step(3_000)
        renewed = await harness.does("renew", "BlueLake")
        released = await harness.does("release", "BlueLake")

        granted = acquired["granted"]
        assert (granted["exclusive"], granted["expires_ts"]) == (True, "2027-01-15T09:00:00.000000+00:00")
        assert renewed == {"renewed": True, "expires_ts": "2027-01-15T09:20:00.000000+00:00"}
        assert released == {"released": True, "released_at": "2027-01-15T08:50:00.000000+00:00"}


async def test_a_slot_is_shared_and_as_short_as_is_said(tmp_path: Path) -> None:
    async with open_build_slots(tmp_path) as harness:
        acquired = await harness.does("acquire", "BlueLake", exclusive=False, ttl_seconds=120)
        renewed = await harness.does("renew", "BlueLake", extend_seconds=240)

        granted = acquired["granted"]
        assert (granted["exclusive"], granted["expires_ts"]) == (False, "2027-01-15T08:02:00.000000+00:00")
        assert renewed["expires_ts"] == "2027-01-15T08:04:00.000000+00:00"


@pytest.mark.parametrize("tool", ["acquire", "renew", "release"])
async def test_every_tool_refuses_what_is_no_name_of_a_slot(tmp_path: Path, tool: str) -> None:
    async with open_build_slots(tmp_path) as harness:
        with pytest.raises(InvalidInput):
            await harness.does(tool, "BlueLake", " ")
