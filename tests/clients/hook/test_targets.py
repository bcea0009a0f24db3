"""Which files a call would change."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook.payload import HookPayload
from mcp_agent_mail.clients.hook.targets import MAX_PATHS, targets
from tests.clients.payloads import payload

PATCH = """*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@
-- not a file
+++ nor this
*** Add File: new file.txt
+x
*** Delete File: /abs/old.py
*** End Patch
"""
UNIFIED = "--- a/src/a.py\t2026\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/new.py\n"


def _targets(client: str, event: str, **value: Any) -> list[str]:
    contract = read_contract(client)
    return targets(contract, event, HookPayload(contract, value))


@pytest.mark.parametrize("client", CLIENTS)
def test_an_edit_of_each_client_names_its_file(client: str) -> None:
    contract = read_contract(client)
    before = [name for name, event in contract["events"].items() if event["moment"] == "before_tool"]

    found = [targets(contract, event, HookPayload(contract, payload(client, event, "/code"))) for event in before]

    assert ["/code/src/app.py"] in found


@pytest.mark.parametrize("client", CLIENTS)
def test_every_edit_tool_of_a_contract_is_read(client: str) -> None:
    contract = read_contract(client)
    for tool, where in contract["edits"]["tools"].items():
        is_patch = isinstance(where, dict)
        value: Any = PATCH if is_patch else "src/a.py"
        for key in reversed(where["patch"] if is_patch else where):
            value = {key: value}
        told: dict[str, Any] = {}
        for place, one in ((contract["tool"][0], tool), (contract["input"][0], value)):
            into = told
            for key in place[:-1]:
                into = into.setdefault(key, {})
            into[place[-1]] = one

        found = targets(contract, "any", HookPayload(contract, told))

        assert found[0] == "src/a.py", tool


def test_a_patch_names_its_files_by_its_file_lines() -> None:
    found = _targets("codex", "PreToolUse", tool_name="apply_patch", tool_input={"command": PATCH})

    assert found == ["src/a.py", "src/b.py", "new file.txt", "/abs/old.py"]


@pytest.mark.parametrize("blank", ["  ", "\t", " \t ", "\u00a0", "\u2003", "\x0c", "\r"])
def test_a_file_line_counts_however_far_it_is_moved_in(blank: str) -> None:
    """Codex trims it, so it is one: a patch with some of each names them all."""
    for kind in ("Update File", "Add File", "Delete File", "Move to"):
        moved = f"*** Begin Patch\n*** Update File: free.py\n{blank}*** {kind}: held.py{blank}\n*** End Patch\n"

        assert _targets("codex", "PreToolUse", tool_name="apply_patch", tool_input={"command": moved}) == [
            "free.py",
            "held.py",
        ]


def test_a_file_line_hides_no_file_of_a_unified_patch() -> None:
    mixed = f"*** Update File: free.py\n{UNIFIED}"

    found = _targets("opencode", "tool.before", tool="patch", input={"patchText": mixed})

    assert found == ["free.py", "src/a.py", "new.py"]


@pytest.mark.parametrize("patch", [f"{' ' * 200_000}*", f"***{' ' * 200_000}x", "*** Add File:" + "\t" * 200_000])
def test_a_patch_takes_no_longer_than_it_is_long(patch: str) -> None:
    assert _targets("codex", "PreToolUse", tool_name="apply_patch", tool_input={"command": patch * 3}) == []


def test_a_patch_may_be_the_words_of_a_command() -> None:
    value = {"tool_name": "apply_patch", "tool_input": {"command": ["apply_patch", PATCH]}}

    assert _targets("codex", "PreToolUse", **value)[:2] == ["src/a.py", "src/b.py"]


def test_a_unified_patch_is_read_too() -> None:
    found = _targets("opencode", "tool.before", tool="patch", input={"patchText": UNIFIED})

    assert found == ["src/a.py", "new.py"]


@pytest.mark.parametrize("path", [None, 1, [], {}, "", "a\0b", "x" * 5_000])
def test_what_is_no_path_is_none(path: Any) -> None:
    assert _targets("claude", "PreToolUse", tool_name="Edit", tool_input={"file_path": path}) == []


@pytest.mark.parametrize("tool", ["Bash", "Read", "", "edit"])
def test_other_tools_change_no_file_that_is_known(tool: str) -> None:
    assert _targets("claude", "PreToolUse", tool_name=tool, tool_input={"file_path": "a", "command": PATCH}) == []


def test_no_file_of_a_patch_is_left_out() -> None:
    patch = "".join(f"*** Add File: {number}\n" for number in range(MAX_PATHS + 50))

    found = _targets("codex", "PreToolUse", tool_name="apply_patch", tool_input={"command": patch})

    assert len(found) == MAX_PATHS + 50
