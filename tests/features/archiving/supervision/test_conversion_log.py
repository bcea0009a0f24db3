from __future__ import annotations

import logging

import pytest

from mcp_agent_mail.features.archiving.protocol import Converted, from_line, to_line
from mcp_agent_mail.features.archiving.supervision.conversion_log import ConversionLog


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


def test_why_one_failed_is_told_until_it_is_converted_and_nothing_counts_as_at_it_meanwhile() -> None:
    known = ConversionLog()
    known.note(Converted(project="app", is_done=False))
    known.note(Converted(project="app", is_done=False, problem="no room"))
    failed = (known.converting, known.converted, dict(known.errors))
    known.note(Converted(project="app", is_done=False))
    again = dict(known.errors)
    known.note(Converted(project="app", is_done=True))

    assert failed == (None, 0, {"app": "no room"})
    assert (again, known.errors) == ({"app": "no room"}, {})


def test_a_new_archiver_is_at_nothing() -> None:
    known = ConversionLog(converting="app", converted=1, errors={"other": "no room"})
    known.forget()

    assert known == ConversionLog(converted=1)


def test_the_archiver_tells_of_it_in_one_line() -> None:
    told = Converted(project="app", is_done=True, seconds=1.5)

    assert from_line(to_line(told)) == told
