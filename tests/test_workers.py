"""What works beside the requests: which workers the settings ask for, and how they start, stop and show themselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER, AttachmentFiles
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.store_limits import Shortage
from mcp_agent_mail.notify.bus import MailBus
from mcp_agent_mail.workers import Workers, build_workers
from tests.features.delivery.harness import open_waiters
from tests.seeded_store import SeededStore, open_seeded_store
from tests.server.whole_app import settings_of

EACH = {
    "ACK_TTL_ENABLED": "acknowledgements",
    "RETENTION_REPORT_ENABLED": "retention",
    "RETENTION_PURGE_ENABLED": "retention",
    "NOTIFICATIONS_ENABLED": "signals",
}
WEBHOOKS = {"WEBHOOK_URLS": "https://mail.example/hook", "WEBHOOK_SECRET": "k" * 32}
ALL = {**dict.fromkeys(EACH, "true"), **WEBHOOKS}
NONE = dict.fromkeys(EACH, "false")
OFF = {"enabled": False, "last_error": None}


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def workers_of(seeded: SeededStore, settings: Settings) -> Workers:
    async def throttle() -> None:
        pass

    contents = AttachmentFiles(settings.storage_root / ATTACHMENTS_FOLDER)
    bus = MailBus(seeded.store.on_mail_change)
    return build_workers(
        settings,
        seeded.store,
        bus,
        open_waiters(seeded.store),
        throttle=throttle,
        contents=contents,
        clock=seeded.clock,
    )


async def test_without_a_setting_nothing_works_and_all_of_it_is_shown_as_off(
    seeded: SeededStore, tmp_path: Path
) -> None:
    workers = workers_of(seeded, settings_of(tmp_path, **NONE))

    workers.start()
    await workers.stop()

    assert workers.unseen is None
    assert workers.show() == {"acknowledgements": OFF, "retention": OFF, "signals": OFF, "webhooks": OFF}
    names = [keeper.name for keeper in workers.keepers()]
    assert names == ["store-size", "archive-backfill", "feed-upkeep", "mail-expiry", "shared-look", "silence"]
    assert workers.looks() == [workers.store_size.looks]


async def test_the_limits_of_the_store_are_those_of_the_settings(seeded: SeededStore, tmp_path: Path) -> None:
    too_large, too_full = {"STORE_MAX_BYTES": "1MiB"}, {"STORE_MIN_FREE_BYTES": "1000000GiB"}
    settings_of(tmp_path).storage_root.mkdir(exist_ok=True)
    (settings_of(tmp_path).storage_root / "large").write_bytes(b"x" * 2**21)
    found = []
    for given in ({}, too_large, too_full):
        await workers_of(seeded, settings_of(tmp_path, **NONE, **given)).store_size.look()
        found.append(seeded.store.growth.shortage)

    assert found == [None, Shortage.TOO_LARGE, Shortage.DISK_FULL]


async def test_each_setting_brings_its_worker_and_no_other(seeded: SeededStore, tmp_path: Path) -> None:
    for setting, name in EACH.items():
        shown = workers_of(seeded, settings_of(tmp_path, **{**NONE, setting: "true"})).show()

        assert {one for one, facts in shown.items() if facts["enabled"]} == {name}, setting
    shown = workers_of(seeded, settings_of(tmp_path, **NONE, **WEBHOOKS)).show()
    assert {one for one, facts in shown.items() if facts["enabled"]} == {"webhooks"}
    assert shown["webhooks"] == {
        "enabled": True,
        "webhooks": 1,
        "told_at": None,
        "waiting": 0,
        "told": 0,
        "failed": 0,
        "dropped": 0,
        "last_error": None,
    }


async def test_all_are_started_and_stopped_together(seeded: SeededStore, tmp_path: Path) -> None:
    workers = workers_of(seeded, settings_of(tmp_path, **ALL))
    keepers = workers.keepers()

    before = [keeper.is_running for keeper in keepers]
    workers.start()
    started = [keeper.is_running for keeper in keepers]
    await workers.stop()

    assert {keeper.name for keeper in keepers} == {
        "signals",
        "webhooks",
        "acknowledgements",
        "unseen-mail",
        "retention",
        "store-size",
        "archive-backfill",
        "feed-upkeep",
        "mail-expiry",
        "shared-look",
        "silence",
    }
    assert (before, started, [keeper.is_running for keeper in keepers]) == ([False] * 11, [True] * 11, [False] * 11)
    assert len(workers.looks()) == 2


async def test_mail_that_comes_last_is_signalled_before_the_stop_is_over(seeded: SeededStore, tmp_path: Path) -> None:
    settings = settings_of(tmp_path, NOTIFICATIONS_ENABLED="true")
    workers = workers_of(seeded, settings)

    workers.start()
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await workers.stop()

    assert [path.stem for path in settings.notifications_signals_dir.rglob("*.signal")] == ["RedStone"]


@pytest.mark.parametrize("escalates", [True, False])
async def test_an_overdue_acknowledgement_is_told_and_escalated_where_that_is_asked_for(
    seeded: SeededStore, tmp_path: Path, escalates: bool
) -> None:
    settings = settings_of(
        tmp_path,
        ACK_TTL_ENABLED="true",
        ACK_TTL_SECONDS="60",
        ACK_ESCALATION_ENABLED=str(escalates),
        ACK_ESCALATION_MODE="file_reservation",
    )
    workers = workers_of(seeded, settings)
    assert workers.overdue is not None
    await seeded.post(seeded.letter(seeded.blue, ack_required=True), *seeded.addressed([seeded.red]))
    seeded.clock.step(61)

    before = workers.show()["acknowledgements"]
    await workers.overdue.look()

    after = workers.show()["acknowledgements"]
    assert (before["looked_at"], before["told"], before["escalated"]) == (None, 0, 0)
    assert (after["looked_at"], after["told"], after["escalated"]) == (
        "2027-01-15T08:01:01.000000+00:00",
        1,
        int(escalates),
    )


async def test_old_mail_goes_by_age_and_not_in_projects_that_are_left_out(seeded: SeededStore, tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        RETENTION_REPORT_ENABLED="true",
        RETENTION_MAX_AGE_DAYS="30",
        RETENTION_IGNORE_PROJECT_PATTERNS="code-lib",
    )
    workers = workers_of(seeded, settings)
    assert workers.retention_worker is not None
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await seeded.post(seeded.letter(seeded.fox), *seeded.addressed([seeded.lib_blue]))
    seeded.clock.step(31 * 86_400)

    await workers.retention_worker.look()

    shown = workers.show()["retention"]
    assert (shown["old"], shown["purged"], shown["last_error"]) == (1, 0, None)
