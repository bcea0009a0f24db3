"""What each client reads: an encoder per contract, never one shape for all. A mismatch fails in silence there."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # Any: JSON that is printed.
    Json = Any


class HookOutput:
    """Everything of one run that the client sees."""

    __slots__ = ("code", "stderr", "stdout")

    def __init__(self, stdout: str = "", code: int = 0, stderr: str = "") -> None:
        self.stdout = stdout
        self.code = code
        self.stderr = stderr


def neutral(value: Json) -> HookOutput:
    """What says nothing: nothing at all, or the object that the contract wants."""
    return HookOutput("" if value == "" else _json(value))


def encode(output: str, event: str, kind: str, text: str) -> HookOutput:
    """`text` as the contract's `output` tells it. `kind` is inject, continue, refuse or say."""
    return _ENCODERS[output](event, kind, text)


def knows(output: str) -> bool:
    return output in _ENCODERS


def _json(value: Json) -> str:
    # ASCII: whatever the client's idea of an encoding is.
    return json.dumps(value, separators=(",", ":")) + "\n"


def _context(event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}))


def _block(_event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"decision": "block", "reason": text}))


def _permission(event: str, kind: str, text: str) -> HookOutput:
    """Claude's and Codex' word before a tool call."""
    if kind == "say":
        return _context(event, kind, text)
    refused = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": text}
    return HookOutput(_json({"hookSpecificOutput": refused}))


def _deny(_event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"decision": "deny", "reason": text}))


def _cursor_context(_event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"additional_context": text}))


def _cursor_decision(_event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"permission": "deny", "agent_message": text}))


def _cursor_followup(_event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"followup_message": text}))


def _copilot_context(_event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"additionalContext": text}))


def _copilot_decision(_event: str, _kind: str, text: str) -> HookOutput:
    return HookOutput(_json({"permissionDecision": "deny", "permissionDecisionReason": text}))


def _cline(_event: str, kind: str, text: str) -> HookOutput:
    if kind == "refuse":
        return HookOutput(_json({"cancel": True, "errorMessage": text}))
    return HookOutput(_json({"cancel": False, "contextModification": text}))


def _exit_2(_event: str, _kind: str, text: str) -> HookOutput:
    """The only refusal that some clients know."""
    return HookOutput(code=2, stderr=text + "\n")


def _plugin(_event: str, kind: str, text: str) -> HookOutput:
    """For our own plugin: it injects, goes on with, or refuses with the text."""
    return HookOutput(
        _json({{"inject": "text", "say": "text", "continue": "continue", "refuse": "refuse"}[kind]: text})
    )


def _silent(_event: str, _kind: str, _text: str) -> HookOutput:
    raise AssertionError("a contract whose output is silent tells nothing")


_ENCODERS: dict[str, Callable[[str, str, str], HookOutput]] = {
    "silent": _silent,
    "claude_context": _context,
    "claude_block": _block,
    "claude_decision": _permission,
    "codex_context": _context,
    "codex_stop": _block,
    "codex_decision": _permission,
    "gemini_context": _context,
    "gemini_block": _deny,
    "gemini_decision": _deny,
    "cursor_context": _cursor_context,
    "cursor_prompt": _silent,
    "cursor_decision": _cursor_decision,
    "cursor_followup": _cursor_followup,
    "copilot_context": _copilot_context,
    "copilot_block": _block,
    "copilot_decision": _copilot_decision,
    "cline": _cline,
    "exit_2": _exit_2,
    "plugin": _plugin,
}
