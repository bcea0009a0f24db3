"""Beyond many files only recent months lie in the work tree, nothing looks lost, and a month comes back on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_agent_mail.archive.months import Thinning
from mcp_agent_mail.core.clock import SECOND, Micros, to_datetime
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import CareFailed, CareTaken, CheckedOut, CheckOut, Committed
from tests.archive_harness import ArchiveHarness, Killed, git, killed_at, open_archive_harness

DAY = 86_400
LIMIT = 60
MONTHS = ["2026-09", "2026-10", "2026-11", "2026-12", "2027-01"]
NOW = "2027-01"
POINTS = [FailPoint.THINNING, FailPoint.THINNED, FailPoint.INDEX_REFRESH]


@dataclass
class Years:
    """An archive with ten mails to two agents in each of MONTHS; it is the middle of the last of them."""

    harness: ArchiveHarness
    project: Project
    blue: Agent
    others: list[Agent]

    @property
    def path(self) -> Path:
        return self.harness.path(self.project)

    def shown(self) -> list[str]:
        """The months that lie in the folder."""
        return sorted({"-".join(path.parts[-4:-2]) for path in (self.path / "messages").glob("*/*/*/*.md")})

    def send(self) -> None:
        self.harness.send(self.blue, self.others)

    def status(self) -> str:
        return git(self.path, "status", "--porcelain")

    def check_out(self, month: str, fault_hook: FaultHook = no_fault) -> CheckedOut:
        with self.harness.drain(fault_hook) as drain:
            drain.resume()
            drain.check_out(CheckOut(number=1, project=self.project.slug, month=month))
            drain.flush(Micros(self.harness.clock() + 60 * SECOND))
        (answer,) = [report for report in self.harness.reports if isinstance(report, CheckedOut)]
        return answer

    def taken(self) -> CareTaken:
        return next(report for report in reversed(self.harness.reports) if isinstance(report, CareTaken))


@pytest.fixture
def years(tmp_path: Path) -> Iterator[Years]:
    with open_archive_harness(tmp_path) as harness:
        harness.clock.now = Micros(1_789_000_000 * SECOND)
        project = harness.add_project("/code/app")
        blue, *others = (harness.add_agent(project, name) for name in ("BlueLake", "RedStone", "GreenField"))
        harness.add_agent(project, "Silent")
        years = Years(harness, project, blue, others)
        for month in MONTHS:
            while f"{to_datetime(harness.clock()):%Y-%m}" != month:
                harness.clock.step(DAY)
            with harness.together():
                for _ in range(10):
                    years.send()
        harness.clock.step(DAY)
        yield years


def thinned(years: Years) -> None:
    years.harness.max_tracked_files = LIMIT
    years.harness.archive()


def later(years: Years) -> None:
    """A day after the last commit, so that what was committed before is not looked at again."""
    years.harness.clock.step(DAY)
    years.send()
    years.harness.archive()
    years.harness.reports.clear()


def test_up_to_the_limit_every_month_is_shown(years: Years) -> None:
    years.harness.archive()

    assert years.shown() == MONTHS
    assert not years.taken().is_thinned


def test_mail_that_comes_while_months_are_put_away_leaves_nothing_to_do_once_it_is_quiet(
    years: Years, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit comes while Git is at work on the files, and Git has ended when that is looked at next."""
    years.harness.max_tracked_files = LIMIT
    begun: list[FailPoint] = []
    is_running = Thinning.is_running
    monkeypatch.setattr(Thinning, "is_running", lambda job: commits() < 2 or is_running(job))

    def commits() -> int:
        return sum(isinstance(report, Committed) for report in years.harness.reports)

    with years.harness.drain(begun.append) as drain:
        drain.resume()
        has_sent = False
        while (wait := drain.step()) is not None and wait < 60:
            if FailPoint.THINNING in begun and not has_sent:
                has_sent = True
                years.send()
            years.harness.clock.step(wait)
            threading.Event().wait(min(wait, 0.05))  # Git's time is real.

        assert commits() == 2
        assert years.shown() == MONTHS[-2:]
        assert years.status() == ""


def test_beyond_the_limit_this_month_and_the_one_before_are_shown_and_git_has_all(years: Years) -> None:
    thinned(years)

    assert years.shown() == MONTHS[-2:]
    assert years.status() == ""
    assert len(git(years.path, "ls-tree", "-r", "--name-only", "main", "--", "messages").splitlines()) == 50
    assert git(years.path, "fsck", "--strict") == ""
    assert years.harness.verify().findings == ()


def test_mail_after_a_pause_of_months_is_shown_like_any_other(years: Years) -> None:
    thinned(years)
    years.harness.clock.step(100 * DAY)
    years.send()

    years.harness.archive()

    assert years.shown() == [f"{to_datetime(years.harness.clock()):%Y-%m}"]
    assert years.status() == ""
    assert years.harness.verify().findings == ()


def test_contacts_belong_to_no_month_and_are_always_shown(years: Years) -> None:
    parties = [
        {"agent_id": one.id, "name": one.name, "project_id": years.project.id, "project_slug": "", "project": ""}
        for one in (years.blue, years.others[0])
    ]
    snapshot = {
        "archive_project_id": years.project.id,
        "id": 1,
        "source": parties[0],
        "target": parties[1],
        "reason": "",
        "status": "approved",
        "created_ts": 1,
        "updated_ts": 1,
        "expires_ts": None,
        "acting": None,
    }
    years.harness._event(years.project, EventKind.CONTACT, snapshot)

    thinned(years)

    assert (years.path / "contacts/BlueLake/RedStone.json").exists()
    assert years.shown() == MONTHS[-2:]


def test_the_index_holds_only_what_is_shown(years: Years) -> None:
    years.harness.archive()
    before = years.taken()

    thinned(years)
    years.send()
    years.harness.archive()

    after = years.taken()
    assert after.is_thinned
    assert after.files == before.files + 4
    assert after.index_bytes < before.index_bytes * 0.6


def test_profiles_and_a_persons_own_folders_stay(years: Years) -> None:
    years.harness.archive()
    (years.path / "notes").mkdir()
    (years.path / "notes/mine.md").write_text("mine")
    git(years.path, "add", "notes")
    git(years.path, "commit", "-q", "-m", "A note")
    years.send()

    thinned(years)

    assert (years.path / "notes/mine.md").read_text() == "mine"
    assert {path.parent.name for path in years.path.glob("agents/*/profile.json")} >= {"Silent", "Human", "BlueLake"}
    assert years.status() == ""


def test_mail_goes_on_in_a_thinned_archive(years: Years) -> None:
    thinned(years)
    newcomer = years.harness.add_agent(years.project, "Newcomer")
    years.harness.send(years.blue, [newcomer])
    years.harness.archive()

    assert years.status() == ""
    assert list(years.path.glob("agents/Newcomer/inbox/*/*/*/*.md"))
    assert years.harness.verify().findings == ()


def test_the_turn_of_the_month_puts_one_more_away(years: Years) -> None:
    thinned(years)
    years.harness.clock.step(31 * DAY)
    years.send()
    years.harness.archive()

    assert years.shown() == ["2027-01", "2027-02"]
    assert years.status() == ""
    assert years.harness.verify().findings == ()


def test_mail_of_a_month_that_is_put_away_comes_late_and_is_in_git_alone(years: Years) -> None:
    thinned(years)
    now = years.harness.clock.now
    years.harness.clock.step(-90 * DAY)
    years.send()
    years.harness.clock.now = now

    years.harness.archive()

    assert years.shown() == MONTHS[-2:]
    assert years.status() == ""
    assert years.harness.verify().findings == ()


def test_a_month_comes_back_when_somebody_asks(years: Years) -> None:
    thinned(years)

    answer = years.check_out("2026-09")

    assert (answer.files, answer.problem) == (40, "")
    assert years.shown() == ["2026-09", *MONTHS[-2:]]
    assert years.status() == ""
    assert years.harness.verify().findings == ()


def test_a_month_that_was_brought_back_stays(years: Years) -> None:
    thinned(years)
    years.check_out("2026-09")
    years.harness.clock.step(31 * DAY)
    years.send()
    years.harness.archive()

    assert years.shown() == ["2026-09", "2027-01", "2027-02"]
    assert years.status() == ""


def test_a_month_that_is_shown_is_answered_at_once(years: Years) -> None:
    years.harness.archive()

    answer = years.check_out("2026-09")

    assert answer.files == 40
    assert years.shown() == MONTHS


def test_a_month_without_files_is_unknown_and_the_known_ones_are_named(years: Years) -> None:
    years.harness.archive()

    answer = years.check_out("2020-01")

    assert answer.is_unknown
    assert "2020-01" in answer.problem
    assert "2026-09, 2026-10, 2026-11" in answer.hint


def test_stopped_between_mending_the_index_and_putting_months_away_the_next_start_ends_it(years: Years) -> None:
    """Nothing new comes, and no note of an unclean stop is left: what was put away must not look removed for ever."""
    thinned(years)
    note = years.path / ".git/agent-mail/months"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"cone": ""}))
    git(years.path, "read-tree", "main")
    assert " D messages/2026/09/" in years.status()

    years.harness.archive()

    assert years.status() == ""
    assert years.shown() == MONTHS[-2:]


@pytest.mark.parametrize("point", POINTS)
def test_killed_while_months_are_put_away_the_next_start_ends_it(years: Years, point: FailPoint) -> None:
    years.harness.archive()
    years.harness.max_tracked_files = LIMIT
    years.send()
    with pytest.raises(Killed):
        years.harness.archive(killed_at(point))

    years.harness.archive()

    assert years.shown() == MONTHS[-2:]
    assert years.status() == ""
    assert years.harness.verify().findings == ()


@pytest.mark.parametrize("point", POINTS[:2])
def test_killed_while_a_month_is_brought_back_it_is_there_after_the_next_start(years: Years, point: FailPoint) -> None:
    thinned(years)
    with pytest.raises(Killed):
        years.check_out("2026-09", killed_at(point))

    years.harness.archive()

    assert years.shown() == ["2026-09", *MONTHS[-2:]]
    assert years.status() == ""
    assert years.harness.verify().findings == ()


def test_files_half_put_away_are_no_loss(years: Years) -> None:
    """As after a loss of power in the middle: Git has removed some files and its index knows nothing of it."""
    years.harness.archive()
    years.harness.max_tracked_files = LIMIT
    years.send()
    with pytest.raises(Killed):
        years.harness.archive(killed_at(FailPoint.THINNED))
    git(years.path, "sparse-checkout", "disable")
    for path in (years.path / "messages/2026/09").rglob("*.md"):
        path.unlink()
    (years.path / ".git/index.lock").touch()

    years.harness.archive()

    assert years.shown() == MONTHS[-2:]
    assert years.status() == ""
    assert years.harness.verify().findings == ()


def test_what_a_killed_git_left_locked_is_mended(years: Years) -> None:
    years.harness.archive()
    years.harness.max_tracked_files = LIMIT
    years.send()
    with pytest.raises(Killed):
        years.harness.archive(killed_at(FailPoint.THINNING))
    (years.path / ".git/info").mkdir(exist_ok=True)
    for name in ("index", "config", "info/sparse-checkout"):
        (years.path / f".git/{name}.lock").touch()

    years.harness.archive()

    assert years.shown() == MONTHS[-2:]
    assert not list((years.path / ".git").rglob("*.lock"))
    assert years.harness.verify().findings == ()


def test_that_it_is_thinned_stands_in_the_repositorys_own_configuration(years: Years) -> None:
    """In a file of its own, which Git does not sync, a loss of power could leave what no Git can read."""
    thinned(years)

    assert not (years.path / ".git/config.worktree").exists()
    assert git(years.path, "config", "--get", "core.sparseCheckout") == "true\n"
    assert git(years.path, "config", "--get-all", "core.sparseCheckoutCone") == "true\n"


def test_half_of_a_month_that_was_brought_back_when_the_power_went_is_whole_again(years: Years) -> None:
    thinned(years)
    later(years)
    with pytest.raises(Killed):
        years.check_out("2026-09", killed_at(FailPoint.THINNED))
    torn, lost, *_ = sorted((years.path / "messages/2026/09").rglob("*.md"))
    whole = torn.read_bytes()
    torn.unlink()
    torn.write_bytes(whole[:10])
    lost.unlink()

    years.harness.archive()

    assert torn.read_bytes() == whole
    assert lost.exists()
    assert years.status() == ""


def test_a_persons_edit_in_a_month_that_was_brought_back_is_kept_by_a_mend(years: Years) -> None:
    thinned(years)
    years.check_out("2026-09")
    later(years)
    edited = next((years.path / "messages/2026/09").rglob("*.md"))
    edited.unlink()
    edited.write_text("mine")
    years.send()
    with pytest.raises(Killed):
        years.harness.archive(killed_at(FailPoint.AFTER_IMPORT))

    years.harness.archive()

    assert edited.read_text() == "mine"


def test_a_lost_index_of_a_thinned_archive_is_built_again(years: Years) -> None:
    thinned(years)
    (years.path / ".git/index").unlink()
    years.send()

    years.harness.archive()

    assert years.shown() == MONTHS[-2:]
    assert years.status() == ""


def test_a_file_that_is_missing_among_the_shown_is_still_found(years: Years) -> None:
    thinned(years)
    next((years.path / "messages/2027/01").rglob("*.md")).unlink()

    assert [(found.check, found.problem) for found in years.harness.verify().findings] == [("work tree", "missing")]


def test_a_persons_edit_in_a_month_to_be_put_away_is_kept(years: Years) -> None:
    years.harness.archive()
    edited = next((years.path / "messages/2026/09").rglob("*.md"))
    edited.unlink()
    edited.write_text("mine")
    years.send()

    thinned(years)

    assert edited.read_text() == "mine"
    assert years.shown() == ["2026-09", *MONTHS[-2:]]


def test_while_another_branch_is_checked_out_nothing_is_put_away(years: Years) -> None:
    years.harness.archive()
    git(years.path, "switch", "-q", "-c", "mine")
    years.send()

    thinned(years)

    assert years.shown() == MONTHS
    assert not any(isinstance(report, CareFailed) for report in years.harness.reports)
