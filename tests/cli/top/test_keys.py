"""Keys where there is no terminal; what they do on one stands beside the screen's."""

from __future__ import annotations

import os

from mcp_agent_mail.cli.top.keys import QUIT, Keys


def test_of_a_pipe_nothing_is_read_and_no_key_comes() -> None:
    reading, writing = os.pipe()
    os.write(writing, QUIT)
    keys = Keys(reading)

    keys.enter()
    came = keys.wait_for(QUIT, 0.05)
    keys.leave()
    keys.leave()

    assert not came
    assert os.read(reading, 10) == QUIT
    os.close(reading)
    os.close(writing)
