from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS
from mcp_agent_mail.clients.setup.wishes import FileWish, is_ours, is_ours_in_other_words
from tests.clients.setup.homes import wishes


@pytest.mark.parametrize("client", CLIENTS)
def test_a_journal_gives_back_what_was_wished(client: str) -> None:
    for wish in wishes(Path("/home/me"), client):
        text = json.dumps(wish.to_json())

        assert json.dumps(FileWish.from_json(json.loads(text)).to_json()) == text


@pytest.mark.parametrize(
    ("command", "is_it"),
    [
        ("/opt/bin/am hook claude Stop", True),
        ("'/opt/agent mail/bin/am' hook claude Stop", True),
        ("am hook claude Stop ", True),
        ("am hook claude Stop --wake", False),
        ("/opt/bin/am hook claude StopFailure", False),
        ("/opt/bin/am hook codex Stop", False),
        ("cd /x && am hook claude Stop", False),
        ("/opt/bin/spam hook claude Stop", False),
        ("/opt/bin/am guard check", False),
        ("echo PWNED; /opt/bin/am hook claude Stop", False),
        ("$(touch x)/am hook claude Stop", False),
        ('"$(touch x)/am" hook claude Stop', False),
        ("'/x'; '/opt/am' hook claude Stop", False),
        ("evil --as /am hook claude Stop", False),
        ("evil\n/opt/am hook claude Stop", False),
        ("/opt/am\nhook claude Stop", False),
        ("PATH=/evil/am hook claude Stop", False),
        ("/opt/a=b/am hook claude Stop", True),
        ("'/opt/o'\"'\"'brien/am' hook claude Stop", True),
    ],
)
def test_a_handler_is_ours_by_the_words_that_it_runs(command: str, is_it: bool) -> None:
    assert is_ours({"type": "command", "bash": command}, "hook claude Stop") is is_it


def test_a_handler_is_not_ours_by_a_key_that_nobody_runs() -> None:
    assert not is_ours({"type": "command", "command": "evil", "note": "/opt/am hook claude Stop"}, "hook claude Stop")


@pytest.mark.parametrize(
    ("command", "is_it"),
    [
        ("/opt/bin/am hook claude Stop 2>/dev/null", True),
        ("/opt/bin/am hook claude Stop||true", True),
        ("'/opt/agent mail/bin/am' hook claude Stop ; true", True),
        ("AGENT_NAME=BlueLake timeout 5 am hook  claude Stop", True),
        ("/opt/bin/am hook claude Stop --x", True),
        ("/opt/bin/am hook claude Stop --wakes", True),
        ("sh -c 'am hook claude Stop'", True),
        ("echo PWNED; /opt/bin/am hook claude Stop", True),
        ('"C:\\\\agent mail\\\\am.exe" hook claude Stop || true', True),
        ("/opt/bin/am hook claude Stop", False),
        ("/opt/bin/am hook claude Stop --wake 2>/dev/null", False),
        ("/opt/bin/am hook claude StopFailure || true", False),
        ("/opt/bin/am hook claude Stop-all || true", False),
        ("/opt/bin/am hook codex Stop || true", False),
        ("/opt/bin/spam hook claude Stop || true", False),
        ("my-am hook claude Stop || true", False),
        ("/opt/bin/am guard check || true", False),
    ],
)
def test_a_handler_that_somebody_worded_otherwise_is_known_and_is_none_of_ours(command: str, is_it: bool) -> None:
    handler = {"type": "command", "bash": command}

    assert is_ours_in_other_words(handler, "hook claude Stop") is is_it
    assert not (is_it and is_ours(handler, "hook claude Stop"))


def test_a_watcher_in_other_words_is_no_hook_in_other_words() -> None:
    handler = {"command": "timeout 9 /opt/bin/am hook claude Stop --wake || true"}

    assert is_ours_in_other_words(handler, "hook claude Stop --wake")
    assert not is_ours_in_other_words(handler, "hook claude Stop")
