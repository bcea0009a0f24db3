from __future__ import annotations

import pytest
import typer

from mcp_agent_mail.cli.arguments import reading_argument
from mcp_agent_mail.core.errors import InvalidInput, NotFound


def test_what_is_no_such_value_is_misuse_that_keeps_its_fact_and_its_hint() -> None:
    with pytest.raises(typer.BadParameter) as wrong, reading_argument("--at"):
        raise InvalidInput("'x' is no time.", hint="Write ISO 8601.")

    assert (wrong.value.param_hint, wrong.value.message) == ("--at", "'x' is no time. Write ISO 8601.")


def test_any_other_refusal_stays_what_it_is() -> None:
    with pytest.raises(NotFound), reading_argument("ID"):
        raise NotFound("no such message")
