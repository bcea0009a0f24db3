"""A commit waits for the guard: asserted by what it imports, since times differ from machine to machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guard.harness import PACKAGES, WITHIN_S, GuardHarness
from tests.served import Served

HEAVY = {"asyncio", "http.client", "sqlite3", "ssl", "email", "logging", "difflib", "uuid", "random", "secrets", "hmac"}

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


def _loaded(harness: GuardHarness, *arguments: str, code: int, **settings: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, str(PACKAGES), *arguments],
        cwd=harness.code,
        env={**harness.environment(), "AGENT_NAME": "BlueLake", **settings},
        capture_output=True,
        check=False,
        timeout=WITHIN_S,
        input=b"",
    )
    ended, modules = json.loads(done.stderr.decode().rpartition("MODULES ")[2])
    assert ended == code, done.stderr.decode()
    return set(modules)


def _foreign(modules: set[str]) -> set[str]:
    tops = {name.partition(".")[0] for name in modules}
    return tops - set(sys.stdlib_module_names) - {"__main__", "mcp_agent_mail"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("hook", "pre-commit"), 1), (("hook", "pre-push", "origin"), 0), (("check", "src/app.py"), 1)],
)
def test_a_run_loads_the_standard_library_and_little_of_it(
    tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    harness = GuardHarness(tmp_path)
    harness.hold("src/**")
    harness.write("src/app.py")
    harness.git("add", "-A")

    modules = _loaded(harness, "guard", *arguments, code=code)

    assert _foreign(modules) == set()
    assert modules & HEAVY == set()
    assert not any(name.startswith(("mcp_agent_mail.cli", "mcp_agent_mail.features")) for name in modules)
    assert "mcp_agent_mail.guard.hooks.install" not in modules


def test_a_server_costs_a_socket_and_no_reading_of_patterns(tmp_path: Path) -> None:
    harness = GuardHarness(tmp_path)
    with Served(tmp_path / "store") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=str(harness.code))

        modules = _loaded(harness, "guard", "check", "a", code=0, AGENT_MAIL_URL=f"http://127.0.0.1:{server.port}")

    assert _foreign(modules) == set()
    assert modules & HEAVY == set()
    assert "mcp_agent_mail.domain.patterns.pattern" not in modules
