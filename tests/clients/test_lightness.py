"""An agent waits for a hook at every event: asserted by what it imports, since times differ from machine to machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.golden_outputs import REPRIME
from tests.clients.hook_program import WITHIN_S, HookHome
from tests.clients.hook_server import HookAnswers, given, hook_server, message

PACKAGES = Path(__file__).parents[2] / "src"

HEAVY = {
    *("asyncio", "dataclasses", "email", "http", "inspect", "logging", "pathlib", "sqlite3", "ssl", "subprocess"),
    *("tempfile", "threading", "typing", "urllib", "datetime", "contextlib", "encodings.idna"),
}
OURS = {
    *("mcp_agent_mail", "mcp_agent_mail.__main__", "mcp_agent_mail.core", "mcp_agent_mail.core.unfilled_text"),
    *("mcp_agent_mail.core.home_folder", "mcp_agent_mail.core.running_server"),
    *("mcp_agent_mail.core.git", "mcp_agent_mail.core.git.ownership"),
    *("mcp_agent_mail.core.settings", "mcp_agent_mail.core.settings.mcp_paths"),
    *("mcp_agent_mail.clients", "mcp_agent_mail.clients.contracts", "mcp_agent_mail.clients.contracts.reader"),
}
_PROGRAM = """
import json, sys
sys.path.append(sys.argv.pop(1))
sys.argv[0] = "am"
from mcp_agent_mail.__main__ import main
try:
    main()
except SystemExit as ended:
    code = ended.code
print("MODULES", json.dumps([int(code), sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.fixture
def answers() -> Iterator[HookAnswers]:
    with hook_server() as answers:
        answers.only_asked = True
        answers.event = given(message(1), reprime=REPRIME)
        yield answers


def _loaded(home: HookHome, client: str, event: str, **more: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, str(PACKAGES), "hook", client, event],
        cwd=home.code,
        env=home.environment(),
        input=json.dumps(home.payload(client, event, **more)).encode(),
        capture_output=True,
        check=False,
        timeout=WITHIN_S,
    )
    ended, modules = json.loads(done.stderr.decode().rpartition("MODULES ")[2])
    assert ended == 0, done.stderr.decode()
    return set(modules)


@pytest.mark.parametrize(
    ("client", "event"),
    [("claude", "UserPromptSubmit"), ("claude", "PostToolUse"), ("codex", "SessionStart"), ("gemini", "AfterAgent")],
)
def test_a_run_with_mail_loads_a_socket_and_json(client: str, event: str, answers: HookAnswers, tmp_path: Path) -> None:
    home = HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "AGENT_MAIL_URL": answers.url})

    modules = _loaded(home, client, event)

    assert modules & HEAVY == set()
    assert {name for name in modules if name.startswith("mcp_agent_mail") and ".hook" not in name} == OURS
    assert {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names) == {"mcp_agent_mail", "__main__"}


def test_a_tool_that_is_no_edit_loads_no_guard(answers: HookAnswers, tmp_path: Path) -> None:
    home = HookHome(tmp_path, {"AGENT_NAME": "BlueLake", "AGENT_MAIL_URL": answers.url})

    modules = _loaded(home, "claude", "PreToolUse", tool_name="Bash")

    assert modules & HEAVY == set()
    assert not any(name.startswith("mcp_agent_mail.guard") for name in modules)


def test_a_repository_with_a_name_of_its_own_loads_no_more(answers: HookAnswers, tmp_path: Path) -> None:
    home = HookHome(tmp_path, {"AGENT_MAIL_URL": answers.url})
    (home.code / ".git" / "config").write_text("[agent-mail]\n\tproject = /code/app\n\tname = BlueLake\n")

    modules = _loaded(home, "claude", "UserPromptSubmit")

    assert answers.bodies("/event")[0]["agent_name"] == "BlueLake"
    assert modules & HEAVY == set()
