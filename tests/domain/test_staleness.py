from __future__ import annotations

from itertools import product

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.staleness import (
    NEVER,
    NO_WORKSPACE,
    UNKNOWN,
    Evidence,
    Missing,
    Sighting,
    StalenessRules,
    WorkspaceActivity,
    judge,
    stale_from,
)

NOW = Micros(1_800_000_000 * SECOND)
LONG_AGO = Micros(0)
RULES = StalenessRules(inactivity_s=1800, grace_s=900)


def ago(seconds: float) -> Micros:
    return Micros(NOW - int(seconds * SECOND))


def seen(seconds: float) -> Sighting:
    return Sighting(last_ts=ago(seconds))


def evidence(
    *, agent_ts: Micros, mail_ts: Micros | None, workspace: WorkspaceActivity, watched_since: Micros = LONG_AGO
) -> Evidence:
    return Evidence(agent_ts=agent_ts, watched_since=watched_since, mail_ts=mail_ts, workspace=workspace)


def test_a_lease_is_stale_from_the_second_after_the_last_of_all_times_has_run_out() -> None:
    given = evidence(
        agent_ts=ago(1_000),
        mail_ts=ago(5),
        workspace=WorkspaceActivity(filesystem=seen(300), git=NEVER, is_matched=True),
    )
    found = stale_from(given, RULES, NOW)

    assert found == NOW + 896 * SECOND
    assert not judge(given, RULES, Micros(found - SECOND)).is_stale
    assert judge(given, RULES, found).is_stale


def test_no_time_is_known_where_something_was_not_found_out() -> None:
    workspace = WorkspaceActivity(filesystem=UNKNOWN, git=NEVER, is_matched=True)

    assert stale_from(evidence(agent_ts=ago(9_000), mail_ts=None, workspace=workspace), RULES, NOW) is None


def test_a_time_far_ahead_says_nothing_of_when_a_lease_is_stale() -> None:
    given = evidence(agent_ts=ago(-100_000), mail_ts=ago(-90_000), workspace=NO_WORKSPACE)

    assert stale_from(given, RULES, NOW) == NOW + SECOND


IDLE = WorkspaceActivity(filesystem=seen(5_000), git=seen(9_000), is_matched=True)


def test_a_lease_is_stale_when_nothing_tells_of_work() -> None:
    judgement = judge(evidence(agent_ts=ago(1801), mail_ts=ago(901), workspace=IDLE), RULES, NOW)

    assert judgement.is_stale
    assert judgement.reasons == (
        "agent_inactive>1800s",
        "no_recent_mail_activity>900s",
        "no_recent_filesystem_activity>900s",
        "no_recent_git_activity>900s",
    )


def test_each_sign_of_work_is_named() -> None:
    workspace = WorkspaceActivity(filesystem=seen(1), git=seen(1), is_matched=True)

    judgement = judge(evidence(agent_ts=ago(1), mail_ts=ago(1), workspace=workspace), RULES, NOW)

    assert not judgement.is_stale
    assert judgement.reasons == (
        "agent_recently_active",
        "mail_activity_recent",
        "filesystem_activity_recent",
        "git_activity_recent",
    )
    assert judgement.missing == (
        Missing.AGENT_ACTIVE,
        Missing.MAIL_RECENT,
        Missing.FILES_RECENT,
        Missing.GIT_RECENT,
    )


def test_any_single_sign_of_work_saves_the_lease() -> None:
    for agent, mail, files, git in product((True, False), repeat=4):
        workspace = WorkspaceActivity(
            filesystem=seen(1 if files else 5_000), git=seen(1 if git else 5_000), is_matched=True
        )
        given = evidence(agent_ts=ago(1 if agent else 5_000), mail_ts=ago(1 if mail else 5_000), workspace=workspace)

        assert judge(given, RULES, NOW).is_stale is not (agent or mail or files or git)


@pytest.mark.parametrize("seconds", [1800, 0, -60])
def test_a_holder_is_idle_only_beyond_the_limit_and_never_in_the_future(seconds: float) -> None:
    judgement = judge(evidence(agent_ts=ago(seconds), mail_ts=None, workspace=NO_WORKSPACE), RULES, NOW)

    assert judgement.missing == (Missing.AGENT_ACTIVE,)


@pytest.mark.parametrize("seconds", [900, 0, -60])
def test_work_is_recent_up_to_the_time_of_grace(seconds: float) -> None:
    workspace = WorkspaceActivity(filesystem=seen(seconds), git=NEVER, is_matched=True)

    judgement = judge(evidence(agent_ts=ago(5_000), mail_ts=None, workspace=workspace), RULES, NOW)

    assert judgement.missing == (Missing.FILES_RECENT,)


@pytest.mark.parametrize("seconds", [-61, -400 * 86_400])
def test_what_a_clock_that_was_ahead_has_written_saves_nothing(seconds: float) -> None:
    workspace = WorkspaceActivity(filesystem=seen(seconds), git=seen(seconds), is_matched=True)
    given = evidence(agent_ts=ago(seconds), mail_ts=ago(seconds), workspace=workspace, watched_since=ago(seconds))

    assert judge(given, RULES, NOW).is_stale


def test_a_time_from_ahead_does_not_hide_when_the_server_began_to_hear() -> None:
    given = evidence(agent_ts=ago(-90_000), watched_since=ago(1800), mail_ts=None, workspace=NO_WORKSPACE)

    assert judge(given, RULES, NOW).missing == (Missing.AGENT_ACTIVE,)


def test_a_pattern_without_files_is_said_so_and_saves_nothing() -> None:
    judgement = judge(evidence(agent_ts=ago(5_000), mail_ts=None, workspace=NO_WORKSPACE), RULES, NOW)

    assert judgement.is_stale
    assert judgement.reasons == ("agent_inactive>1800s", "no_recent_mail_activity>900s", "path_pattern_unmatched")


@pytest.mark.parametrize(
    ("workspace", "missing"),
    [
        (WorkspaceActivity(filesystem=UNKNOWN, git=NEVER, is_matched=True), Missing.FILES_UNKNOWN),
        (WorkspaceActivity(filesystem=NEVER, git=UNKNOWN, is_matched=True), Missing.GIT_UNKNOWN),
        (
            WorkspaceActivity(filesystem=Sighting(last_ts=ago(5_000), is_known=False), git=NEVER, is_matched=True),
            Missing.FILES_UNKNOWN,
        ),
    ],
)
def test_what_was_not_found_out_is_never_idleness(workspace: WorkspaceActivity, missing: Missing) -> None:
    judgement = judge(evidence(agent_ts=ago(5_000), mail_ts=None, workspace=workspace), RULES, NOW)

    assert judgement.missing == (missing,)
    assert not any(missing.value.split("_")[0] in reason for reason in judgement.reasons)


def test_nobody_is_idle_while_there_was_no_server_to_call() -> None:
    given = evidence(agent_ts=ago(90_000), watched_since=ago(1800), mail_ts=None, workspace=NO_WORKSPACE)

    assert judge(given, RULES, NOW).missing == (Missing.AGENT_ACTIVE,)
