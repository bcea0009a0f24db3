from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.tools import Credentials
from tests.features.macros.harness import APP, open_macros

NOBODY = Credentials(via="mcp")
OPERATOR = Credentials(via="local", bearer_token="unused")
WRONG = Credentials(via="mcp", agent_token="amt_wrong")


@pytest.mark.parametrize("auth", ["open", "strict"])
async def test_how_far_the_numbers_of_all_mail_are_is_told_to_the_proven_alone(tmp_path: Path, auth: str) -> None:
    async with open_macros(tmp_path, AGENT_AUTH=auth) as team:
        await team.start("BlueLake")
        blue = Credentials(via="mcp", agent_token=team.tokens[APP, "BlueLake"])

        healths = [await team.call("health_check", one) for one in (NOBODY, WRONG, blue, OPERATOR)]

    assert [one["status"] for one in healths] == ["ok"] * 4
    unproven, wrong, proven, operator = (one["delivery"]["feed_tail"] for one in healths)
    assert (unproven, wrong) == (None, None)
    assert proven == operator == 0
    assert [one["caller"] for one in healths] == ["anonymous", None, "agent", "operator"]
