"""One run of the guard: who commits, in which project, and what is left of it on record."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.client import read_client_settings
from mcp_agent_mail.domain.guard.decision import GuardOutcome
from mcp_agent_mail.guard.git import GitRefused
from mcp_agent_mail.guard.lease_source import Committer, LeaseAnswer
from mcp_agent_mail.guard.session import Session, say
from tests.guard.answering import answer, answering
from tests.guard.in_process import GuardInProcess


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> GuardInProcess:
    harness = GuardInProcess(tmp_path, monkeypatch, capsys)
    harness.base("src/app.py", "src/old.py", "README.md")
    harness.write_snapshot()
    return harness


def test_git_configuration_says_who_commits(harness: GuardInProcess) -> None:
    harness.hold("src/app.py", agent="RedStone")
    harness.git("config", "agent-mail.name", "RedStone")

    code, _ = harness.commit("src/app.py", AGENT_NAME="")

    assert code == 0
    assert harness.commit("src/app.py", AGENT_NAME="BlueLake")[0] == 1, "AGENT_NAME comes before it"


@pytest.mark.parametrize(("author", "code"), [("BlueLake", 1), ("Stranger", 0), ("redstone", 0)])
def test_gits_author_counts_when_it_is_an_agent(harness: GuardInProcess, author: str, code: int) -> None:
    harness.hold("src/app.py", agent="RedStone")

    assert harness.commit("src/app.py", AGENT_NAME="", GIT_AUTHOR_NAME=author)[0] == code


def test_names_that_are_no_utf8_are_matched_and_shown(harness: GuardInProcess) -> None:
    harness.hold("data/**")
    harness.write(b"data/caf\xe9 \x1b[31m.txt")
    harness.git("add", "-A")

    code, said = harness.commit()

    assert code == 1
    assert "\x1b" not in said
    assert "\\udce9" in said
    assert harness.spooled()[0]["detail"]["paths"][0]["path"].startswith("data/caf\\udce9")


# --- By itself --------------------------------------------------------------------------------------------------------


@contextmanager
def _session(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch, cwd: Path | None = None, **settings: str
) -> Iterator[Session]:
    environment = harness.environment(**settings)
    for name in set(os.environ) - set(environment):
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(cwd or harness.code)
    with closing(Session("check", "edit", read_client_settings(environment))) as session:
        yield session


def test_the_repositorys_values_come_before_the_users_and_the_environment_before_both(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.git("config", "--global", "agent-mail.name", "OfUser")
    harness.git("config", "--global", "agent-mail.project", "user-project")
    with _session(harness, monkeypatch) as session:
        of_user = (session.project, session.committer)
    harness.git("config", "agent-mail.name", "OfRepository")
    harness.git("config", "agent-mail.project", "repository-project")
    with _session(harness, monkeypatch) as session:
        of_repository = (session.project, session.committer)
    with _session(harness, monkeypatch, AGENT_NAME="Told", AGENT_MAIL_PROJECT="told") as session:
        told = (session.project, session.committer)

    assert of_user == ("user-project", Committer(name="OfUser", author=None))
    assert of_repository == ("repository-project", Committer(name="OfRepository", author=None))
    assert told == ("told", Committer(name="Told", author=None))


def test_without_a_name_the_committer_is_gits_author(harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    with _session(harness, monkeypatch) as session:
        found.append(session.committer)
    harness.git("config", "author.name", "Ann")
    with _session(harness, monkeypatch) as session:
        found.append(session.committer)
    with _session(harness, monkeypatch, GIT_AUTHOR_NAME="Bea") as session:
        found.append(session.committer)

    assert found == [Committer(name=None, author=name) for name in ("Grace", "Ann", "Bea")]


def test_nothing_of_a_session_is_left_behind(harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    (harness.root / "tmp").mkdir()
    with _session(harness, monkeypatch, TMPDIR=str(harness.root / "tmp")) as session:
        assert session.git is session.git
        assert session.patience is session.patience
        during = len(list((harness.root / "tmp").iterdir()))

    assert (during, list((harness.root / "tmp").iterdir())) == (1, [])


def test_a_project_that_nobody_knows_is_said(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    not_found = {"error": {"type": "NOT_FOUND", "message": "x"}}
    with answering(answer(404, not_found)) as at, _session(harness, monkeypatch, AGENT_MAIL_URL=at.url) as session:
        session.ask(["README.md"])

    assert capsys.readouterr().err == (
        f"agent-mail guard: the server at {at.url} knows no project {harness.code}: nothing is reserved there.\n"
    )


def test_where_no_server_answers_the_source_is_said(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with _session(harness, monkeypatch) as session:
        session.ask(["README.md"])

    assert "agent-mail guard: no live answer; looked at a snapshot of the leases, " in capsys.readouterr().err


def test_the_servers_answer_is_its_own_and_it_takes_the_record(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    free = {"agent": "BlueLake", "held_count": 0, "held": []}
    with answering(answer(200, free)) as at, _session(harness, monkeypatch, AGENT_MAIL_URL=at.url) as session:
        session.record(GuardOutcome.WARNED, session.ask(["README.md"]))

    assert capsys.readouterr().err == ""
    assert [head[0] for head in at.heads] == ["POST /guard/check HTTP/1.0", "POST /guard/events HTTP/1.0"]
    assert harness.spooled() == []


@pytest.mark.parametrize(
    ("settings", "goes_on", "said", "action"),
    [
        ({}, True, "edit passes UNCHECKED: no Git.", "failed"),
        (
            {"AGENT_MAIL_GUARD_ON_ERROR": "block"},
            False,
            "edit refused: the guard could not check it: no Git.",
            "failed",
        ),
        (
            {"AGENT_MAIL_GUARD_ON_ERROR": "block", "AGENT_MAIL_BYPASS": "1"},
            True,
            "edit passes unchecked (AGENT_MAIL_BYPASS is set, and no Git).",
            "bypassed",
        ),
    ],
)
def test_what_cannot_be_found_out_goes_by_the_settings_and_is_recorded(
    harness: GuardInProcess,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, str],
    goes_on: bool,
    said: str,
    action: str,
) -> None:
    with _session(harness, monkeypatch, cwd=None, **settings) as session:
        assert session.fail("no Git") is goes_on

    assert said in capsys.readouterr().err
    (event,) = harness.spooled()
    assert (event["action"], event["hook"], event["detail"]["note"]) == (action, "check", "no Git")


def test_a_record_tells_what_is_known_and_no_more(harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    (harness.root / "a b\udce9").mkdir()
    with _session(harness, monkeypatch, cwd=harness.root / "a b\udce9", AGENT_NAME="BlueLake") as session:
        with pytest.raises(GitRefused):
            session.repository  # noqa: B018  # the property looks
        session.fail("outside")
    with _session(harness, monkeypatch, cwd=harness.code / "src", AGENT_NAME="BlueLake") as session:
        session.repository  # noqa: B018
        session.record(GuardOutcome.FAILED, None)
    with _session(harness, monkeypatch, AGENT_NAME="BlueLake") as session:
        session.repository  # noqa: B018
        session.record(GuardOutcome.WARNED, LeaseAnswer(agent="RedStone", held=(), held_count=4, source="here"))

    outside, failed, warned = (
        (
            event["project"],
            event["agent"],
            event["repository"],
            event["detail"]["path_count"],
            event["detail"]["source"],
        )
        for event in harness.spooled()
    )
    assert outside == ("", None, f"{harness.root}/a b%E9", 0, "")
    assert failed == (str(harness.code), "BlueLake", str(harness.code), 0, "")
    assert warned == (str(harness.code), "RedStone", str(harness.code), 4, "here")


def test_where_the_repository_itself_is_what_failed_the_record_names_what_the_settings_say(
    harness: GuardInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    (harness.root / "home" / ".gitconfig").write_text("[user\n")
    with _session(harness, monkeypatch) as session:
        session.repository  # noqa: B018
        session.fail("broken")

    assert [(event["project"], event["agent"]) for event in harness.spooled()] == [(str(harness.code), None)]


def test_a_line_begins_with_who_speaks_unless_it_goes_on_and_shows_what_would_be_obeyed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(["fact \x1b[2J", "  and more"])

    assert capsys.readouterr().err == "agent-mail guard: fact \\x1b[2J\n  and more\n"


class _Gone(io.StringIO):
    def flush(self) -> None:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_terminal_that_is_gone_or_knows_few_letters_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(written, encoding="ascii"))
    say(["caf\u00e9"])
    monkeypatch.setattr(sys, "stderr", _Gone())
    say(["nobody hears this"])

    assert written.getvalue() == b"agent-mail guard: caf\\xe9\n"
