"""What pre-commit and pre-push decide, say and record."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.answering import answer, answering
from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


@pytest.mark.parametrize(
    ("lease", "why"),
    [
        ({"exclusive": False}, "shared"),
        ({"agent": "BlueLake"}, "one's own"),
        ({"agent": "bluelake"}, "one's own in other letters"),
        ({"for_s": -1}, "expired"),
        ({"pattern": "src/app.pyx"}, "another path"),
        ({"pattern": "tool://src/app.py"}, "no path at all"),
    ],
)
def test_what_does_not_block(harness: GuardInProcess, lease: dict[str, object], why: str) -> None:
    harness.hold(**{"pattern": "src/app.py", **lease})  # type: ignore[arg-type]  # the table's values fit

    code, said = harness.commit("src/app.py")

    assert code == 0, (why, said)
    assert "held" not in said
    assert harness.spooled() == []


def test_ones_own_lease_lets_pass_with_a_warning_if_anothers_covers_the_path_too(harness: GuardInProcess) -> None:
    harness.hold("src/**")
    harness.hold("src/app.py", agent="BlueLake")

    code, said = harness.commit("src/app.py")

    assert code == 0
    assert "commit passes, but 1 path is held by another agent (you hold them too)" in said
    assert [event["action"] for event in harness.spooled()] == ["warned"]


def test_without_an_agents_name_it_is_a_person_who_is_told_and_not_stopped(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")

    code, said = harness.commit("src/app.py", AGENT_NAME="")

    assert code == 0
    assert "it is a person's" in said


def test_a_name_can_be_required(harness: GuardInProcess) -> None:
    code, said = harness.commit("README.md", AGENT_NAME="", AGENT_MAIL_GUARD_REQUIRE_NAME="1")

    assert code == 1
    assert "It does not say which agent makes it, and AGENT_MAIL_GUARD_REQUIRE_NAME is set." in said
    assert [event["action"] for event in harness.spooled()] == ["refused"]


@pytest.mark.parametrize("is_held", [True, False])
@pytest.mark.parametrize("mark", ["CLAUDECODE", "GEMINI_CLI", "CODEX_THREAD_ID", "CURSOR_AGENT"])
def test_an_agents_shell_without_a_name_is_asked_who_it_is(harness: GuardInProcess, mark: str, is_held: bool) -> None:
    if is_held:
        harness.hold("src/app.py")

    code, said = harness.commit("src/app.py", cwd=None, AGENT_NAME="", **{mark: "1"})

    assert code == 1
    assert "commit refused: say who you are." in said
    assert f"{mark} says that an agent makes it" in said
    assert ("held by RedStone" in said) is is_held
    assert "AGENT_NAME=YourName git commit" in said
    assert [event["action"] for event in harness.spooled()] == ["refused"]


def test_an_agents_shell_is_asked_before_it_pushes_too(harness: GuardInProcess) -> None:
    harness.git("init", "-q", "--bare", str(harness.root / "remote"))
    harness.git("remote", "add", "origin", str(harness.root / "remote"))

    code, said = harness.push("origin", "main", AGENT_NAME="", CLAUDECODE="1")

    assert code == 1
    assert "push refused: say who you are." in said


@pytest.mark.parametrize(
    "who",
    [
        {"AGENT_NAME": "BlueLake"},
        {"AGENT_NAME": "", "AGENT_MAIL_GUARD_REQUIRE_NAME": "false"},
        {"AGENT_NAME": "", "CLAUDECODE": "0"},
    ],
)
def test_an_agent_with_a_name_and_whoever_is_taken_for_a_person_are_not_asked(
    harness: GuardInProcess, who: dict[str, str]
) -> None:
    code, said = harness.commit("src/app.py", cwd=None, **{"CLAUDECODE": "1", **who})

    assert (code, "who you are" in said) == (0, False)


def test_an_agents_shell_is_not_asked_in_a_project_that_nobody_knows_nor_outside_of_it(harness: GuardInProcess) -> None:
    package = harness.code / "pkg"
    harness.write_snapshot(project=package)

    unknown = {"error": {"type": "NOT_FOUND", "message": "Unknown project.", "data": {"parameter": "project_key"}}}
    with answering(answer(404, unknown)) as server:
        elsewhere = harness.commit("README.md", AGENT_NAME="", CLAUDECODE="1", AGENT_MAIL_URL=server.url)
    outside = harness.commit("README.md", AGENT_NAME="", CLAUDECODE="1", AGENT_MAIL_PROJECT=str(package))

    assert "knows no project" in elsewhere[1]
    assert (elsewhere[0], outside[0]) == (0, 0)
    assert "who you are" not in elsewhere[1] + outside[1]


def test_a_guard_that_only_warns_tells_an_agents_shell_that_it_names_nobody(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")

    code, said = harness.commit("src/app.py", AGENT_NAME="", CODEX_SANDBOX="seatbelt", AGENT_MAIL_GUARD_MODE="warn")

    assert code == 0
    assert "it is an agent's, as CODEX_SANDBOX says, and names none: set AGENT_NAME" in said
    assert [event["action"] for event in harness.spooled()] == ["warned"]


@pytest.mark.parametrize("mode", ["warn", "advisory", "adv"])
def test_the_mode_warn_lets_pass_and_records(harness: GuardInProcess, mode: str) -> None:
    harness.hold("src/app.py")

    code, said = harness.commit("src/app.py", AGENT_MAIL_GUARD_MODE=mode)

    assert code == 0
    assert "AGENT_MAIL_GUARD_MODE=warn" in said
    assert [event["action"] for event in harness.spooled()] == ["warned"]


def test_a_bypass_passes_and_is_recorded_with_what_it_passed(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")

    code, said = harness.commit("src/app.py", AGENT_MAIL_BYPASS="1")

    assert code == 0
    assert "AGENT_MAIL_BYPASS is set; this is recorded" in said
    assert "commit passes, but 1 path is held by another agent (bypassed)." in said
    (event,) = harness.spooled()
    assert event["action"] == "bypassed"
    assert event["detail"]["paths"][0]["holder"] == "RedStone"


def test_nothing_changed_is_nothing_to_ask(harness: GuardInProcess) -> None:
    harness.write_snapshot().unlink()

    done = harness.guard(
        "hook", "pre-commit", AGENT_MAIL_GUARD_ON_ERROR="block", AGENT_MAIL_GUARD_REQUIRE_NAME="1", AGENT_NAME=""
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_push_of_nothing_but_ends_is_nothing_to_ask(harness: GuardInProcess) -> None:
    harness.write_snapshot().unlink()
    gone = f"(delete) {'0' * 40} refs/heads/gone {'1' * 40}\n".encode()

    done = harness.guard(
        "hook", "pre-push", "origin", stdin=gone, AGENT_MAIL_GUARD_ON_ERROR="block", PATH="/without-git"
    )

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("settings", "code", "asked"),
    [
        ({}, 0, False),
        ({"AGENT_MAIL_GUARD_REQUIRE_NAME": "1"}, 0, True),
        ({"AGENT_MAIL_BYPASS": "1"}, 0, True),
        ({"AGENT_MAIL_GUARD_REQUIRE_NAME": "1", "AGENT_NAME": ""}, 1, True),
    ],
)
def test_where_all_paths_lie_outside_the_project_only_what_is_no_matter_of_paths_is_asked(
    harness: GuardInProcess, settings: dict[str, str], code: int, asked: bool
) -> None:
    package = harness.code / "pkg"
    harness.write_snapshot(project=package)

    answered, said = harness.commit("README.md", "src/app.py", cwd=None, AGENT_MAIL_PROJECT=str(package), **settings)

    assert answered == code
    assert f"2 paths lie outside the project {package}, where nothing can be reserved." in said
    assert ("no live answer" in said) is asked


def test_a_bypass_of_nothing_held_is_recorded_and_told_without_a_list(harness: GuardInProcess) -> None:
    code, said = harness.commit("README.md", AGENT_MAIL_BYPASS="1")

    assert code == 0
    assert "commit passes, because AGENT_MAIL_BYPASS is set; this is recorded." in said
    assert "held" not in said
    assert [event["action"] for event in harness.spooled()] == ["bypassed"]


def test_a_push_to_an_address_names_no_remote(harness: GuardInProcess) -> None:
    harness.hold("README.md")
    tip = harness.git("rev-parse", "HEAD").strip()
    pushed = f"refs/heads/main {tip} refs/heads/main {'0' * 40}\n".encode()

    done = harness.guard("hook", "pre-push", stdin=pushed)

    assert done.returncode == 1
    assert "push refused: 1 path is held by another agent." in done.stderr.decode()
