from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.kinds import BadValue, PathContext
from mcp_agent_mail.core.settings.rows_mailbox import PORTS

HERE = PathContext(folder=Path("/"), home=Path("/"))


@pytest.mark.parametrize(
    ("text", "ports"), [("47822", (47822,)), (" 1 ,2,", (1, 2)), ("0,0", (0, 0)), ("65535,0", (65535, 0))]
)
def test_ports_stand_with_commas_between_them(text: str, ports: tuple[int, ...]) -> None:
    assert PORTS.parse(text, HERE) == ports


@pytest.mark.parametrize("text", ["", ",", "65536", "-1", "1,x", "1,1", "٣", "1.5", "1,2,3,4,5,6,7,8,9"])
def test_what_is_no_port_or_stands_twice_is_refused(text: str) -> None:
    with pytest.raises(BadValue):
        PORTS.parse(text, HERE)
