from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_agent_mail.cli.demo.team import TEAM
from tests.cli.command_line import am

MACROS = {
    "macro_start_session",
    "macro_prepare_thread",
    "macro_file_reservation_cycle",
    "macro_contact_handshake",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo printed, and the folder that it left."""
    home = tmp_path_factory.mktemp("home")
    done = am("demo", "--macros", "--fast", home=home, TMPDIR=str(home))
    assert done.returncode == 0, done.stderr
    (folder,) = home.glob("am-demo-*")
    return done.stdout, folder


def test_eight_agents_of_three_projects_call_macros_alone(told: tuple[str, Path]) -> None:
    text, _ = told

    steps = re.findall(r"^ ?\d+\. (\w+) .*\[(\w+)\]$", text, re.MULTILINE)

    assert {agent for agent, _ in steps} == set(TEAM)
    assert len(TEAM) == 8
    assert len({project for project, _ in TEAM.values()}) == 3
    assert {macro for _, macro in steps} == MACROS
    assert f"{len(steps)} calls of 8 agents, of 4 macros" in text


def test_the_session_shows_conflicts_consent_summaries_and_the_product(told: tuple[str, Path]) -> None:
    text, _ = told

    for line in (
        "does not get src/cart/total.ts: BlueLake holds src/cart/**",
        "BlueLake takes mail from its project: contact approved, message delivered",
        "open question: May I change src/cart/total.ts after you?",
        "decision: totals are computed in cents.",
        "gives back 1",
        "GrayFox works next door and is asked first: the message waits for its word",
        "docs: CopperField: Release notes",
    ):
        assert f"      {line}\n" in text


def test_the_session_leaves_a_store_that_verifies(told: tuple[str, Path]) -> None:
    _, folder = told

    verified = am("doctor", "verify", home=folder.parent, STORAGE_ROOT=str(folder / "store"))

    assert verified.stdout.startswith("result\tclean")
