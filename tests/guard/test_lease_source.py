"""Who holds what, by the server or by the snapshot on disk; whatever else lies or answers there is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros, iso, system_clock
from mcp_agent_mail.core.running_server import Deadline
from mcp_agent_mail.core.settings.client import load_client_settings
from mcp_agent_mail.guard import lease_source
from mcp_agent_mail.guard.lease_source import CannotTell, Committer, LeaseAnswer, LeaseQuery, LeasesSource, in_words
from tests.guard.answering import answer, answering
from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


def test_letter_case_counts_as_the_lease_says(harness: GuardInProcess) -> None:
    harness.hold("SRC/App.py", ignore_case=True)
    harness.hold("readme.md", ignore_case=False)

    assert harness.commit("src/app.py")[0] == 1
    harness.git("reset", "-q", "--hard")
    assert harness.commit("README.md")[0] == 0


def test_the_age_of_the_snapshot_is_said(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")
    harness.write_snapshot(age_s=3 * 3600)

    _, said = harness.commit("src/app.py")

    assert "a snapshot of the leases, 3 hours old (no server is running)" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "holds no snapshot of the leases"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"format": 2}', "a format that this version cannot read"),
        ('{"format": 1, "project": {"human_key": "CODE"}, "leases": [3]}', "cannot be read"),
        ('{"format": 1, "project": [1]}', "holds no snapshot of the leases"),
        ('{"format": 1, "project": {"human_key": "CODE"}, "agents": 1, "leases": []}', "cannot be read"),
        ('{"format": 1, "project": {"human_key": "CODE"}, "leases": [], "as_of": 1e999}', "cannot be read"),
        ('{"format": 1, "project": {"human_key": "CODE"}, "truncated": true}', "is not complete"),
    ],
)
@pytest.mark.parametrize("policy", ["warn", "block"])
def test_a_guard_that_cannot_tell_never_blocks_or_passes_silently(
    harness: GuardInProcess, content: str | None, said: str, policy: str
) -> None:
    file = harness.write_snapshot()
    file.unlink()
    if content is not None:
        file.write_text(content.replace("CODE", str(harness.code)))

    code, heard = harness.commit("src/app.py", AGENT_MAIL_GUARD_ON_ERROR=policy)

    assert said in heard
    assert (code, "UNCHECKED" in heard) == ((0, True) if policy == "warn" else (1, False))
    assert [event["action"] for event in harness.spooled()] == ["failed"]
    assert harness.commit("src/app.py", AGENT_MAIL_GUARD_ON_ERROR=policy, AGENT_MAIL_BYPASS="1")[0] == 0


def test_a_snapshot_that_is_a_pipe_holds_no_commit_up(harness: GuardInProcess) -> None:
    file = harness.write_snapshot()
    file.unlink()
    os.mkfifo(file)

    code, heard = harness.commit("src/app.py", AGENT_MAIL_GUARD_ON_ERROR="warn")

    assert f"{file} is no ordinary file" in heard
    assert code == 0


_DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "given",
    [
        (200, _DEEP),
        (400, _DEEP),
        (400, b'{"detail": ' + b"[" * 900 + b"]" * 900 + b"}"),
        (200, b'{"agent": null, "held_count": 1e999, "held": []}'),
        (200, b'{"agent": null, "held_count": 0, "held": 3}'),
    ],
    ids=["deep", "a deep refusal", "deep words", "no number", "no list"],
)
@pytest.mark.parametrize("policy", ["warn", "block"])
def test_a_malformed_answer_is_a_failure_with_a_policy(
    harness: GuardInProcess, given: tuple[int, bytes], policy: str
) -> None:
    harness.write_snapshot().unlink()
    with answering(answer(*given)) as at:
        code, heard = harness.commit("src/app.py", AGENT_MAIL_GUARD_ON_ERROR=policy, AGENT_MAIL_URL=at.url)

    assert "Traceback" not in heard
    assert "holds no snapshot of the leases" in heard
    assert (code, "UNCHECKED" in heard) == ((0, True) if policy == "warn" else (1, False))


# --- Asked by itself --------------------------------------------------------------------------------------------------

LONG_S = 60.0
BLUE = Committer(name="BlueLake", author=None)
_HOLDER = {
    "id": 7,
    "agent": "RedStone",
    "path_pattern": "caf\u00e9/**",
    "exclusive": True,
    "expires_ts": "2027-01-15T08:00:00Z",
}


def _ask(
    harness: GuardInProcess,
    *paths: str,
    project: str | None = None,
    committer: Committer = BLUE,
    at: str | None = None,
) -> LeaseAnswer:
    settings = load_client_settings(harness.environment(**({"AGENT_MAIL_URL": at} if at else {})))
    source = LeasesSource(settings, Deadline(LONG_S), system_clock())
    query = LeaseQuery(project=project or str(harness.code), committer=committer, paths=paths, hook="check")
    return source.ask(query)


def test_the_servers_answer_is_the_first_to_count(harness: GuardInProcess) -> None:
    path = "caf\udce9/x"
    held = [{"path": "caf%E9/x", "is_own_too": False, "holder": _HOLDER}]
    with answering(answer(200, {"agent": "BlueLake", "held_count": 3, "held": held})) as at:
        found = _ask(harness, path, "README.md", at=at.url)

    assert at.bodies == [
        {
            "project": str(harness.code),
            "agent": "BlueLake",
            "author": None,
            "hook": "check",
            "paths": ["caf%E9/x", "README.md"],
        }
    ]
    assert (found.agent, found.held_count, found.source, found.is_project_known) == ("BlueLake", 3, "the server", True)
    (one,) = found.held
    assert (one.path, one.is_own_too, one.holding.agent, one.holding.reason) == (path, False, "RedStone", "")
    assert iso(one.holding.expires_ts) == "2027-01-15T08:00:00.000000+00:00"


def test_a_project_that_the_server_does_not_know_holds_nothing(harness: GuardInProcess) -> None:
    harness.hold("README.md")
    with answering(answer(404, {"error": {"type": "NOT_FOUND", "message": "x"}})) as at:
        found = _ask(harness, "README.md", at=at.url)

    assert (found.agent, found.held, found.is_project_known) == ("BlueLake", (), False)
    assert found.source == f"the server at {at.url}"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(403, {"detail": "no"}), "refused: no"),
        (answer(200, {"agent": 3, "held_count": 0, "held": []}), "gave an answer that this version cannot read"),
        (b"", "was no help: what answers there is no agent-mail server"),
    ],
)
def test_where_the_server_is_no_help_the_snapshot_is_the_source_and_says_why(
    harness: GuardInProcess, said: bytes, why: str
) -> None:
    harness.hold("README.md")
    with answering(said) as at:
        found = _ask(harness, "README.md", at=at.url)

    assert [path.path for path in found.held] == ["README.md"]
    assert found.source.endswith(f"(the server at {at.url} {why})")


def test_more_paths_than_a_server_is_asked_about_are_looked_up_in_the_snapshot(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_source, "MAX_PATHS_ASKED", 1)
    harness.hold("README.md")
    with answering(answer(200, {"agent": None, "held_count": 0, "held": []})) as at:
        found = _ask(harness, "README.md", "x", at=at.url)

    assert (at.requests, found.held_count) == ([], 1)
    assert "2 paths are more than the server is asked about at once" in found.source


def test_patterns_that_take_too_much_work_are_told(harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_source, "_WORK_STEPS", 0)
    harness.hold("**/*a*b*c*.md")

    with pytest.raises(CannotTell, match="no server is running, and "):
        _ask(harness, "src/abc.md")


@pytest.mark.parametrize(
    "project", ["../../etc", ".hidden", "another/code", "/no/such/place", "/two\0", "/" + "x/" * 5_000]
)
def test_a_project_without_a_snapshot_of_its_own_cannot_be_told(harness: GuardInProcess, project: str) -> None:
    with pytest.raises(CannotTell, match="holds no snapshot of the leases"):
        _ask(harness, "README.md", project=project)


@pytest.mark.parametrize("project", ["../evil", ".evil"])
def test_no_name_of_a_project_leads_to_another_file(harness: GuardInProcess, project: str) -> None:
    (harness.storage / "projects" / f"{project}.leases.json").write_text(harness.write_snapshot().read_text())

    with pytest.raises(CannotTell, match="holds no snapshot of the leases"):
        _ask(harness, "README.md", project=project)


def test_a_lease_of_ones_own_that_is_shared_covers_a_path_too(harness: GuardInProcess) -> None:
    harness.hold("src/**")
    harness.hold("src/app.py", agent="bluelake", exclusive=False)

    found = _ask(harness, "src/app.py", "src/old.py")

    assert {path.path: path.is_own_too for path in found.held} == {"src/app.py": True, "src/old.py": False}


def test_the_snapshot_of_another_project_of_the_same_slug_is_not_taken(harness: GuardInProcess) -> None:
    file = harness.write_snapshot()
    file.write_text(file.read_text().replace(str(harness.code), "/another/code"))

    with pytest.raises(CannotTell, match="holds no snapshot of the leases"):
        _ask(harness, "README.md")


@pytest.mark.parametrize(
    ("committer", "agent"),
    [
        (Committer(name="GreenFox", author="RedStone"), "GreenFox"),
        (Committer(name=None, author="redstone"), "RedStone"),
        (Committer(name=None, author="Ann"), None),
        (Committer(name=None, author=None), None),
    ],
)
def test_gits_author_is_an_agent_only_where_the_project_has_one_of_the_name(
    harness: GuardInProcess, committer: Committer, agent: str | None
) -> None:
    harness.hold("README.md", agent="RedStone")

    assert _ask(harness, "README.md", committer=committer).agent == agent


def test_times_stand_as_text_or_as_microseconds(harness: GuardInProcess) -> None:
    expires = Micros(system_clock() + 60 * SECOND)
    lease: dict[str, Any] = {"expires_ts": expires}
    harness.hold("README.md", **lease)

    assert [path.holding.expires_ts for path in _ask(harness, "README.md").held] == [expires]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (1, "1 second"),
        (59, "59 seconds"),
        (60, "1 minute"),
        (90, "90 seconds"),
        (120, "2 minutes"),
        (3_600, "1 hour"),
        (5_400, "90 minutes"),
        (86_400, "1 day"),
        (200_000, "2 days"),
    ],
)
def test_a_span_is_told_in_the_largest_unit_that_says_enough(seconds: int, words: str) -> None:
    assert in_words(seconds) == words


def test_a_name_that_no_agent_has_is_answered_with_whom_it_may_mean(harness: GuardInProcess) -> None:
    harness.hold("src/app.py")
    said = {name: harness.commit("src/app.py", AGENT_NAME=name)[1] for name in ("RedStome", "Zork", "bluelake")}

    assert "No agent here is called RedStome. Did you mean RedStone?" in said["RedStome"]
    assert "No agent here is called Zork: set AGENT_NAME" in said["Zork"]
    assert "No agent here" not in said["bluelake"]
