"""What each group of services is given of the settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.bootstrap.wiring import (
    _auth_rules,
    _delivery,
    _directory,
    _locks,
    archive_places,
    archiver_settings,
    contact_rules,
    new_names,
    recording,
)
from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.failpoints import FailPoint, Kill
from mcp_agent_mail.domain.contacts import AutoScope, ContactRules
from mcp_agent_mail.domain.identity.admission import ProjectAdmission
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import NameEnforcement
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.seeded_store import open_seeded_store
from tests.server.whole_app import settings_of


@pytest.mark.parametrize("token", [None, "the-servers-own-token"])
def test_callers_are_told_apart_by_the_servers_token_and_the_operators(tmp_path: Path, token: str | None) -> None:
    given = {} if token is None else {"HTTP_BEARER_TOKEN": token}

    rules = _auth_rules(settings_of(tmp_path, AGENT_AUTH="strict", **given), "amo_operator")

    assert (rules.auth, rules.operator_token) == (AgentAuth.STRICT, "amo_operator")
    assert rules.bearer_must_open is (token is not None)


def test_the_archiver_is_given_plain_values_and_where_a_test_wants_it_killed(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        GIT_AUTHOR_NAME="Ann",
        GIT_AUTHOR_EMAIL="ann@example.com",
        ARCHIVE_COMMIT_INTERVAL_MS="70",
        ARCHIVE_LOCATION="workspace",
        ARCHIVE_MAX_TRACKED_FILES="2000",
    )
    kill = Kill(point=FailPoint.RESUME)

    assert archiver_settings(settings, failpoint=kill) == ArchiverSettings(
        storage_root=str(tmp_path / "store"),
        database_path=str(tmp_path / "store" / "mail.sqlite3"),
        author_name="Ann",
        author_email="ann@example.com",
        commit_interval_ms=70,
        in_workspace=True,
        max_tracked_files=2_000,
        failpoint=kill,
    )
    assert archive_places(settings).in_workspace is True
    assert archiver_settings(settings_of(tmp_path)).in_workspace is archive_places(settings_of(tmp_path)).in_workspace


def test_names_and_contacts_follow_their_settings(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        AGENT_NAME_ENFORCEMENT_MODE="strict",
        PROJECT_ADMISSION="member",
        CONTACT_ENFORCEMENT_ENABLED="false",
        CONTACT_AUTO_SCOPE="context",
        CONTACT_AUTO_TTL_SECONDS="90",
        MESSAGING_AUTO_HANDSHAKE_ON_BLOCK="false",
    )

    names = new_names(settings)

    assert (names.enforcement, names.admission) == (NameEnforcement.STRICT, ProjectAdmission.MEMBER)
    assert contact_rules(settings) == ContactRules(
        enforced=False, scope=AutoScope.CONTEXT, recent=Micros(90 * SECOND), hold=False
    )


@pytest.mark.parametrize(("is_limited", "limit"), [("true", 7), ("false", 0)])
def test_inboxes_have_a_limit_where_quotas_are_on(tmp_path: Path, is_limited: str, limit: int) -> None:
    settings = settings_of(
        tmp_path,
        QUOTA_ENABLED=is_limited,
        QUOTA_INBOX_LIMIT_COUNT="7",
        FILE_RESERVATIONS_ENFORCEMENT_ENABLED="false",
    )

    policy = _delivery(settings)

    assert (policy.inbox_limit, policy.respects_leases) == (limit, False)


@pytest.mark.parametrize("is_emitted", [True, False])
def test_figures_go_to_the_log_where_that_is_asked_for(tmp_path: Path, is_emitted: bool) -> None:
    settings = settings_of(tmp_path, TOOL_METRICS_EMIT_ENABLED=str(is_emitted))

    made = recording(settings, Store(settings.database_path), system_clock)

    assert [keeper.name for keeper in made.keepers()] == (["tool-metrics"] if is_emitted else [])


async def test_introspection_finds_projects_by_id_and_by_key_and_agents_by_name(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        directory = _directory(seeded.store)

        found = [await directory.find_project(key) for key in (seeded.app.id, seeded.app.human_key, seeded.app.slug)]
        unknown = [await directory.find_project(key) for key in ("/code/nobody-knows", "")]
        agent, project = await directory.find_agent("quietfox", None)

    assert [one and one.slug for one in found] == ["code-app"] * 3
    assert unknown == [None, None]
    assert (agent.name, project.slug) == ("QuietFox", "code-lib")


def test_locks_are_shown_with_who_holds_them(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    archiving = ArchivingService(Store(settings.database_path), archiver_settings(settings), clock=system_clock)
    locks = {lock.category: lock for lock in _locks(settings, archiving)}

    before = locks["store"].owner_pid()
    with StoreLock(settings.storage_root, settings.database_path):
        held = locks["store"].owner_pid()

    assert (before, held, locks["archive"].owner_pid()) == (None, os.getpid(), None)
    assert [lock.path.name for lock in locks.values()] == ["server.lock", "archive.lock"]
