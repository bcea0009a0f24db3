"""How many connections there are, by the files that the process may have open."""

from __future__ import annotations

import resource

import pytest

from mcp_agent_mail.server.transport.connection_limits import MAX_CONNECTIONS, RESERVED
from mcp_agent_mail.server.transport.open_files import OTHER_FILES, fitting_limits

Limits = tuple[int, int]


def _system(monkeypatch: pytest.MonkeyPatch, limits: Limits, *, refuses: bool = False) -> list[Limits]:
    """What the process is asked to raise its limits to."""
    asked: list[Limits] = []

    def raise_to(_: int, wanted: Limits) -> None:
        if refuses:
            raise ValueError("not allowed to raise maximum limit")
        asked.append(wanted)

    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", raise_to)
    return asked


@pytest.mark.parametrize("hard", [100_000, resource.RLIM_INFINITY])
def test_the_soft_limit_is_raised_to_what_is_wanted_and_to_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, hard: int
) -> None:
    asked = _system(monkeypatch, (1_024, hard))

    assert fitting_limits(3_000).connections == 3_000
    assert asked == [(3_000 + RESERVED + OTHER_FILES, hard)]
    assert not caplog.records


def test_where_the_hard_limit_does_not_allow_it_there_are_fewer_and_the_log_says_how_many(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = _system(monkeypatch, (256, 1_024))

    assert fitting_limits().connections == 1_024 - OTHER_FILES - RESERVED
    assert asked == [(1_024, 1_024)]
    (warning,) = caplog.records
    assert warning.levelname == "WARNING"
    assert warning.facts == {  # type: ignore[attr-defined]  # ours
        "http_max_connections": MAX_CONNECTIONS,
        "connections": 1_024 - OTHER_FILES - RESERVED,
        "open_files": 1_024,
        "files_needed": MAX_CONNECTIONS + RESERVED + OTHER_FILES,
    }


def test_a_system_that_does_not_raise_it_leaves_room_for_the_files_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    _system(monkeypatch, (1_024, resource.RLIM_INFINITY), refuses=True)

    assert fitting_limits().connections == 1_024 - OTHER_FILES - RESERVED


@pytest.mark.parametrize("soft", [100_000, resource.RLIM_INFINITY])
def test_a_limit_that_is_high_already_stays(monkeypatch: pytest.MonkeyPatch, soft: int) -> None:
    asked = _system(monkeypatch, (soft, resource.RLIM_INFINITY))

    assert fitting_limits(500).connections == 500
    assert asked == []
