"""What each client reads in each case of each event is golden, counted, and of that client's own form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from tests.clients.closed_schema import faults
from tests.clients.golden_outputs import CASES, GOLDEN, ROOT, golden

SCHEMAS: dict[str, Any] = json.loads((ROOT / "tests" / "golden" / "codex_hooks" / "schemas.json").read_text("utf-8"))


def _kept(client: str) -> dict[str, dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = json.loads((GOLDEN / f"{client}.json").read_text(encoding="utf-8"))
    return kept


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_client_reads_is_golden(client: str) -> None:
    """After a change: `python -m tests.clients.golden_outputs`, and look at the difference."""
    assert golden(client) == _kept(client)


def test_every_case_of_every_event_is_there() -> None:
    """An event that a contract loses is lost in its golden file too: so how many there are stands here."""
    for client in CLIENTS:
        kept = _kept(client)
        assert kept.keys() == read_contract(client)["events"].keys()
        for event, cases in kept.items():
            assert tuple(cases) == CASES, f"{client} {event}"

    assert {client: len(_kept(client)) for client in CLIENTS} == {
        "claude": 12,
        "codex": 12,
        "gemini": 11,
        "cursor": 11,
        "opencode": 7,
        "copilot": 13,
        "windsurf": 12,
        "cline": 8,
        "droid": 9,
        "amp": 7,
    }
    assert len(CASES) == 11


@pytest.mark.parametrize("client", CLIENTS)
def test_what_says_nothing_is_the_contracts_neutral_output(client: str) -> None:
    for event, cases in _kept(client).items():
        neutral = read_contract(client)["events"][event]["neutral"]
        for case in ("nothing", "foreign", "subagent", "no_session", "no_server"):
            told = cases[case]
            if case == "subagent" and client in ("gemini", "windsurf", "cline"):
                continue  # They do not say which events are a sub-agent's.
            assert told["code"] == 0, f"{event} {case}"
            assert told["stderr"] == "", f"{event} {case}"
            assert (told["stdout"] == "") if neutral == "" else (json.loads(told["stdout"]) == neutral), (
                f"{event} {case}"
            )


@pytest.mark.parametrize("client", CLIENTS)
def test_another_exit_code_is_the_refusal_of_clients_that_know_no_other(client: str) -> None:
    for event, cases in _kept(client).items():
        output = read_contract(client)["events"][event]["output"]
        for case, told in cases.items():
            if told["code"] != 0:
                assert (output, told["code"]) == ("exit_2", 2), f"{event} {case}"
                assert case in ("stop", "held")
                assert told["stdout"] == ""


def test_codex_would_take_every_output() -> None:
    """Its schemas are closed: a key more, and the hook counts as failed."""
    judged = 0
    for event, cases in _kept("codex").items():
        for case, told in cases.items():
            if told["stdout"]:
                assert event in SCHEMAS, f"{event} prints, and has no schema"
                assert faults(json.loads(told["stdout"]), SCHEMAS[event]) == [], f"{event} {case}"
                judged += 1

    assert judged >= len(CASES)


@pytest.mark.parametrize(
    ("event", "printed"),
    [
        ("PostCompact", {"hookSpecificOutput": {"hookEventName": "PostCompact", "additionalContext": "x"}}),
        ("Stop", {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "x"}}),
        ("PreToolUse", {"continue": False}),
        ("PreToolUse", {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}),
        ("SessionStart", {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "x"}}),
        ("UserPromptSubmit", {"extra": 1}),
    ],
)
def test_the_schemas_refuse_what_codex_is_known_to_refuse(event: str, printed: Any) -> None:
    assert faults(printed, SCHEMAS[event]) != []


def test_mail_goes_to_the_slots_that_the_client_has() -> None:
    """Where each client's mail comes out, at a glance: whoever changes a contract sees it here."""
    slots = {
        client: [event for event, cases in _kept(client).items() if "#1 from RedStone" in cases["mail"]["stdout"]]
        for client in CLIENTS
    }

    assert slots == {
        "claude": ["UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop"],
        "codex": ["UserPromptSubmit", "PostToolUse", "Stop"],
        "gemini": ["BeforeAgent", "AfterTool", "AfterAgent"],
        "cursor": ["postToolUse", "postToolUseFailure", "stop"],
        "opencode": ["turn", "tool.after", "idle"],
        "copilot": ["postToolUse", "agentStop", "notification"],
        "windsurf": [],
        "cline": ["UserPromptSubmit", "PostToolUse"],
        "droid": ["UserPromptSubmit", "PostToolUse", "Stop"],
        "amp": ["turn", "tool.after", "idle"],
    }


def test_edits_and_stops_are_refused_where_the_client_can() -> None:
    def refused(case: str) -> dict[str, list[str]]:
        found = {}
        for client in CLIENTS:
            by_event = _kept(client)
            found[client] = [event for event, cases in by_event.items() if cases[case] != cases["nothing"]]
        return found

    before = {
        "claude": ["PreToolUse"],
        "codex": ["PreToolUse"],
        "gemini": ["BeforeTool"],
        "cursor": ["preToolUse"],
        "opencode": ["tool.before"],
        "copilot": ["preToolUse"],
        "cline": ["PreToolUse"],
        "droid": ["PreToolUse"],
        "amp": ["tool.before"],
    }
    assert refused("held") == {**before, "windsurf": ["pre_write_code"]}


def test_the_golden_files_are_of_these_clients_alone() -> None:
    assert {path.stem for path in Path(GOLDEN).glob("*.json")} == set(CLIENTS)
