"""Each encoder in its client's own words; `tests/golden/clients` has them in full."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.clients.hook.output import encode, neutral

_T = "two\nlines"
_CLAUDES = {"hookSpecificOutput": {"hookEventName": "E", "additionalContext": _T}}
_DENIED = {"hookSpecificOutput": {"hookEventName": "E", "permissionDecision": "deny", "permissionDecisionReason": _T}}


@pytest.mark.parametrize(
    ("output", "kind", "printed"),
    [
        ("claude_context", "inject", _CLAUDES),
        ("codex_context", "inject", _CLAUDES),
        ("gemini_context", "inject", _CLAUDES),
        ("claude_block", "continue", {"decision": "block", "reason": _T}),
        ("codex_stop", "continue", {"decision": "block", "reason": _T}),
        ("gemini_block", "continue", {"decision": "deny", "reason": _T}),
        ("claude_decision", "refuse", _DENIED),
        ("claude_decision", "say", _CLAUDES),
        ("codex_decision", "refuse", _DENIED),
        ("gemini_decision", "refuse", {"decision": "deny", "reason": _T}),
        ("cursor_context", "inject", {"additional_context": _T}),
        ("cursor_followup", "continue", {"followup_message": _T}),
        ("cursor_decision", "refuse", {"permission": "deny", "agent_message": _T}),
        ("copilot_context", "inject", {"additionalContext": _T}),
        ("copilot_block", "continue", {"decision": "block", "reason": _T}),
        ("copilot_decision", "refuse", {"permissionDecision": "deny", "permissionDecisionReason": _T}),
        ("cline", "inject", {"cancel": False, "contextModification": _T}),
        ("cline", "refuse", {"cancel": True, "errorMessage": _T}),
        ("plugin", "inject", {"text": _T}),
        ("plugin", "continue", {"continue": _T}),
        ("plugin", "refuse", {"refuse": _T}),
    ],
)
def test_a_text_is_told_in_the_clients_words(output: str, kind: str, printed: dict[str, Any]) -> None:
    told = encode(output, "E", kind, _T)

    assert json.loads(told.stdout) == printed
    assert told.stdout.count("\n") == 1
    assert told.stdout.isascii()
    assert (told.code, told.stderr) == (0, "")


def test_where_a_code_is_the_refusal_the_reason_goes_to_stderr() -> None:
    told = encode("exit_2", "E", "refuse", _T)

    assert (told.code, told.stdout, told.stderr) == (2, "", f"{_T}\n")


@pytest.mark.parametrize(("value", "stdout"), [("", ""), ({}, "{}\n"), ({"continue": True}, '{"continue":true}\n')])
def test_what_says_nothing_is_what_the_contract_wants(value: Any, stdout: str) -> None:
    assert neutral(value).stdout == stdout
