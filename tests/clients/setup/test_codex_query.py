from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup import codex_query
from mcp_agent_mail.clients.setup.codex_query import in_words, read_trust


def codex(tmp_path: Path, script: str) -> dict[str, str]:
    """Surroundings with a `codex` on PATH that does that."""
    program = tmp_path / "codex"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/bin:/bin"}


def hook(event: str, command: str, status: str) -> dict[str, object]:
    """As Codex 0.171 lists it."""
    return {"eventName": event, "handlerType": "command", "command": command, "trustStatus": status}


LISTED = [
    hook("preToolUse", "/opt/bin/am hook codex PreToolUse", "untrusted"),
    hook("stop", "'/an am/am' hook codex Stop", "trusted"),
    hook("sessionStart", "/opt/bin/am hook codex SessionStart", "modified"),
    hook("stop", "/usr/bin/lint", "untrusted"),
]


def test_of_our_hooks_it_is_told_who_is_trusted(tmp_path: Path) -> None:
    answer = json.dumps({"id": 1, "result": {"data": [{"cwd": "/x", "hooks": LISTED}]}})
    (tmp_path / "answer").write_text('{"id": 0, "result": {}}\n{"method": "noise"}\n' + answer + "\n")
    script = f'pwd > "{tmp_path}/place"; ls -A > "{tmp_path}/there"; head -3 > "{tmp_path}/asked"'
    environ = codex(tmp_path, f'{script}; cat "{tmp_path}/answer"; exec sleep 60')

    found = read_trust(environ)

    assert found == {"PreToolUse": "untrusted", "Stop": "trusted", "SessionStart": "modified"}
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    assert [message["method"] for message in asked] == ["initialize", "initialized", "hooks/list"]
    # It stands in an empty folder, is asked of that, and the folder goes.
    place = (tmp_path / "place").read_text().strip()
    assert asked[2]["params"] == {"cwds": [place]}
    assert ((tmp_path / "there").read_text(), Path(place).exists()) == ("", False)


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "cat",
        "echo oops",
        "echo '[]'; exec sleep 60",
        'echo \'{"id": 1, "error": {"code": -32601}}\'',
        'echo \'{"id": 1, "result": 7}\'',
    ],
)
def test_a_codex_that_says_something_else_says_nothing(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codex_query, "WITHIN_S", 0.5)

    assert read_trust(codex(tmp_path, script)) is None


def test_without_codex_nobody_is_asked(tmp_path: Path) -> None:
    assert read_trust({"PATH": str(tmp_path)}) is None


def test_what_waits_for_trust_is_named() -> None:
    assert in_words({"Stop": "trusted"}) == "trusted"
    assert in_words({"Stop": "modified", "PreToolUse": "untrusted"}).startswith("untrusted: PreToolUse, Stop.")
    assert "could not be asked" in in_words(None)
    assert "could not be asked" in in_words({})
