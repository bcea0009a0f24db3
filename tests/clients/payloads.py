"""What each client says on stdin at its events, by its documentation: by hand, and with no code of the product."""

from __future__ import annotations

import json
from typing import Any

Payload = dict[str, Any]

FOREIGN: dict[str, Payload] = {
    # What runs Claude's hooks beside Claude: Cursor by its own keys, Copilot by its time.
    "claude": {"cursor_version": "3.12.17", "conversation_id": "c-1", "workspace_roots": ["/code"]},
    "codex": {"cursor_version": "3.12.17"},
    "gemini": {"cursor_version": "3.12.17"},
    "cursor": {"sessionId": "x"},
    "opencode": {"session_id": "x"},
    "copilot": {"cursor_version": "3.12.17"},
    "windsurf": {"session_id": "x"},
    "cline": {"session_id": "x"},
    "droid": {"cursor_version": "3.12.17"},
    "amp": {"session_id": "x"},
}


def payload(client: str, event: str, folder: str, *, file: str = "src/app.py", **more: Any) -> Payload:
    """A payload of the event; where it is about a tool, of an edit of `file` in `folder`."""
    return {**_OF[client](event, folder, f"{folder}/{file}"), **more}


def subagents(client: str, event: str, folder: str) -> Payload:
    """The same from within a sub-agent; unchanged for clients that do not say so."""
    marks: dict[str, Payload] = {
        **{one: {"agent_id": "sub-1"} for one in ("claude", "codex", "droid")},
        "cursor": {"parent_conversation_id": "c-0"},
        "copilot": {"agentId": "sub-1"},
        **{one: {"parent": "s-0"} for one in ("opencode", "amp")},
    }
    return payload(client, event, folder, **marks.get(client, {}))


def _claude(event: str, folder: str, file: str) -> Payload:
    common = {"session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": folder, "hook_event_name": event}
    if event == "SessionStart":
        return {**common, "source": "startup"}
    if "Tool" in event:
        edit = {"file_path": file, "old_string": "a", "new_string": "b"}
        result = {"tool_response": {"filePath": file}} if event == "PostToolUse" else {}
        return {**common, "tool_name": "Edit", "tool_input": edit, **result}
    return {**common, **({"stop_hook_active": False} if event == "Stop" else {})}


def _codex(event: str, folder: str, file: str) -> Payload:
    common = {"session_id": "s-1", "cwd": folder, "hook_event_name": event, "model": "m"}
    if event == "SessionStart":
        return {**common, "source": "startup"}
    if "Tool" in event:
        patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n-a\n+b\n*** End Patch\n"
        return {**common, "tool_name": "apply_patch", "tool_input": {"command": patch}, "tool_use_id": "t"}
    return {**common, **({"stop_hook_active": False} if event == "Stop" else {})}


def _gemini(event: str, folder: str, file: str) -> Payload:
    common = {
        "session_id": "s-1",
        "transcript_path": "/t.json",
        "cwd": folder,
        "hook_event_name": event,
        "timestamp": "2026-11-01T00:00:00Z",
    }
    if event == "SessionStart":
        return {**common, "source": "startup"}
    if event in ("BeforeTool", "AfterTool"):
        return {**common, "tool_name": "write_file", "tool_input": {"file_path": file, "content": "x"}}
    return {**common, **({"stop_hook_active": False} if event == "AfterAgent" else {})}


def _cursor(event: str, folder: str, file: str) -> Payload:
    common = {
        "conversation_id": "s-1",
        "generation_id": "g",
        "hook_event_name": event,
        "cursor_version": "3.12.17",
        "workspace_roots": [folder],
    }
    if "ToolUse" in event:
        return {**common, "tool_name": "Write", "tool_input": {"file_path": file, "contents": "x"}}
    return {**common, **({"status": "completed", "loop_count": 0} if event == "stop" else {})}


def _copilot(event: str, folder: str, file: str) -> Payload:
    common: Payload = {"sessionId": "s-1", "timestamp": 1_795_000_000_000, "cwd": folder}
    if event == "sessionStart":
        return {**common, "source": "new"}
    if "ToolUse" in event:
        return {**common, "toolName": "create", "toolArgs": json.dumps({"path": file, "file_text": "x"})}
    if event == "notification":
        said = {"title": "Shell completed", "message": "am wait has ended", "notification_type": "shell_completed"}
        return {**common, "hook_event_name": "Notification", **said}
    return common


def _windsurf(event: str, folder: str, file: str) -> Payload:
    info: Payload = {"cwd": folder}
    if "code" in event:
        info["file_path"] = file
    return {"agent_action_name": event, "trajectory_id": "s-1", "execution_id": "e", "tool_info": info}


def _cline(event: str, folder: str, file: str) -> Payload:
    common: Payload = {"hookName": event, "taskId": "s-1", "workspaceRoots": [folder], "clineVersion": "3.0.65"}
    call = {"toolName": "write_to_file", "parameters": {"path": file, "content": "x"}}
    if event == "PreToolUse":
        return {**common, "preToolUse": call}
    if event == "PostToolUse":
        return {**common, "postToolUse": {**call, "result": "ok", "success": True}}
    return common


def _droid(event: str, folder: str, file: str) -> Payload:
    common = {"session_id": "s-1", "cwd": folder, "hook_event_name": event}
    if "Tool" in event:
        return {**common, "tool_name": "Create", "tool_input": {"file_path": file, "content": "x"}}
    return {**common, **({"source": "startup"} if event == "SessionStart" else {})}


def _plugin(tool: str, key: str) -> Any:
    def of(event: str, folder: str, file: str) -> Payload:
        common: Payload = {"session": "s-1", "cwd": folder}
        return {**common, "tool": tool, "input": {key: file}} if event.startswith("tool.") else common

    return of


_OF: dict[str, Any] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "cursor": _cursor,
    "opencode": _plugin("edit", "filePath"),
    "copilot": _copilot,
    "windsurf": _windsurf,
    "cline": _cline,
    "droid": _droid,
    "amp": _plugin("edit_file", "path"),
}
