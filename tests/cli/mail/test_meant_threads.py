"""What a name that may be a message's id is taken for, whatever a server answers."""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.mail.meant_threads import thread_meant
from mcp_agent_mail.core.errors import NotFound, PermissionDenied

# Plain JSON.
Row = dict[str, object]


@pytest.mark.parametrize(
    ("name", "first", "meant"),
    [
        ("7", [{"id": 7, "thread_id": "plan"}], "plan"),
        ("7", [{"id": 7, "thread_id": None}], "7"),
        ("7", [{"id": 7, "thread_id": "7"}], "7"),
        ("7", [{"id": 9, "thread_id": "7"}], "7"),
        ("7", [{"id": 7, "thread_id": "plan"}, {"id": 9, "thread_id": "7"}], "7"),
        ("7", [], "7"),
    ],
    ids=str,
)
def test_alone_in_its_thread_a_message_means_its_own(name: str, first: list[Row], meant: str) -> None:
    assert thread_meant(name, lambda _: first) == meant


@pytest.mark.parametrize("name", ["plan", "", "-7", "7a", "\u0667"])
def test_what_is_no_number_is_not_asked_for(name: str) -> None:
    def never(_: str) -> list[Row]:
        raise AssertionError(name)

    assert thread_meant(name, never) == name


def test_whoever_reads_a_thread_that_is_not_there_is_told_so() -> None:
    def missing(_: str) -> list[Row]:
        raise NotFound("There is none.")

    assert thread_meant("7", missing) == "7"


def test_another_refusal_is_told() -> None:
    def refused(_: str) -> list[Row]:
        raise PermissionDenied("Not yours.")

    with pytest.raises(PermissionDenied, match="Not yours"):
        thread_meant("7", refused)
