from __future__ import annotations

import logging

import pytest

from mcp_agent_mail.features.archiving.conversion_log import ConversionLog
from mcp_agent_mail.features.archiving.protocol import Converted, from_line, to_line


def test_begin_and_end_of_a_conversion_are_logged_and_told_to_whoever_asks(caplog: pytest.LogCaptureFixture) -> None:
    known = ConversionLog()
    with caplog.at_level(logging.INFO, "mcp_agent_mail.archiving"):
        known.note(Converted(project="app", is_done=False))
        during = (known.converting, known.converted)
        known.note(Converted(project="app", is_done=True, seconds=1.5))

    assert (during, known.converting, known.converted) == (("app", 0), None, 1)
    assert [record.message for record in caplog.records] == [
        "an archive is being converted to the new format",
        "an archive has been converted to the new format",
    ]


def test_the_archiver_tells_of_it_in_one_line() -> None:
    told = Converted(project="app", is_done=True, seconds=1.5)

    assert from_line(to_line(told)) == told
