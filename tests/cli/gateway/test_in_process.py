from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.errors import NotFound, PermissionDenied
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.archiving.lost_database import DatabaseLost
from mcp_agent_mail.store.engine.growth_limit import StoreTooLarge
from mcp_agent_mail.store.engine.lock import StoreInUse, StoreLock
from tests.cli.command_line import am
from tests.served import git

SHOP = {"project_key": "/code/shop"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"HOME": str(tmp_path), "STORAGE_ROOT": str(tmp_path / "store")}, cwd=tmp_path).settings


@contextmanager
def opened(settings: Settings) -> Iterator[InProcessGateway]:
    gateway = InProcessGateway(settings)
    gateway.open()
    try:
        yield gateway
    finally:
        gateway.close()


def write_mail(gateway: InProcessGateway) -> None:
    gateway.call("ensure_project", {"human_key": "/code/shop"})
    gateway.call("register_agent", {**SHOP, "name": "BlueLake", "program": "tests", "model": "none"})
    gateway.call("send_message", {**SHOP, "sender_name": "Human", "to": ["BlueLake"], "subject": "Hi", "body_md": "x"})


def archives(settings: Settings) -> list[Path]:
    return sorted(path.parent for path in settings.storage_root.glob("projects/*/.git"))


def test_what_was_written_as_the_operator_is_in_git_when_it_is_closed(settings: Settings) -> None:
    with opened(settings) as gateway:
        write_mail(gateway)
        inbox = gateway.read("resource://inbox/BlueLake?project=%2Fcode%2Fshop")

    (archive,) = archives(settings)
    assert [message["from"] for message in inbox["messages"]] == ["Human"]
    assert len(list(archive.glob("agents/BlueLake/inbox/**/*.md"))) == 1
    assert git(archive, "status", "--porcelain") == ""


def test_its_own_refusals_are_those_of_the_tools(settings: Settings) -> None:
    with opened(settings) as gateway, pytest.raises(NotFound):
        gateway.call("whois", {**SHOP, "agent_name": "BlueLake"})


def test_mail_goes_on_where_the_numbers_cannot_be_noted_and_it_is_told(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(settings) as gateway:
        write_mail(gateway)
    shutil.copy(settings.database_path, tmp_path / "older.sqlite3")
    with opened(settings) as gateway:
        gateway.call("register_agent", {**SHOP, "name": "RedStone", "program": "tests", "model": "none"})
    shutil.copy(tmp_path / "older.sqlite3", settings.database_path)
    (settings.storage_root / "numbers.json").mkdir()

    with opened(settings) as gateway:
        inbox = gateway.read("resource://inbox/BlueLake?project=%2Fcode%2Fshop")

    assert len(inbox["messages"]) == 1
    told = capsys.readouterr().err
    assert "Warning: The numbers that the store has given out cannot be noted" in told
    assert "Hint: Move away what lies there" in told


def test_without_room_what_adds_is_refused_and_reading_goes_on(settings: Settings) -> None:
    with opened(settings) as gateway:
        write_mail(gateway)
    (settings.storage_root / "large").write_bytes(b"x" * 2**20)

    with opened(replace(settings, store_max_bytes=2**20)) as gateway:
        with pytest.raises(StoreTooLarge):
            write_mail_again(gateway)
        inbox = gateway.read("resource://inbox/BlueLake?project=%2Fcode%2Fshop")

    assert len(inbox["messages"]) == 1


def write_mail_again(gateway: InProcessGateway) -> None:
    gateway.call("send_message", {**SHOP, "sender_name": "Human", "to": ["BlueLake"], "subject": "Hi", "body_md": "x"})


def test_a_store_is_had_by_one_at_a_time(settings: Settings) -> None:
    with StoreLock(settings.storage_root, settings.database_path), pytest.raises(StoreInUse):
        InProcessGateway(settings).open()

    with opened(settings) as gateway:
        assert gateway.read("resource://projects") == []


def test_an_archive_that_is_behind_is_a_warning_and_left_to_the_next_who_writes(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    in_the_way = settings.storage_root / "projects"
    settings.storage_root.mkdir(mode=0o700)
    in_the_way.write_text("no folder")
    with opened(settings) as gateway:
        write_mail(gateway)
    warned = capsys.readouterr().err
    in_the_way.unlink()

    with opened(settings) as gateway:
        gateway.read("resource://projects")
    after_reading = archives(settings)
    with opened(settings) as gateway:
        gateway.call("set_status", {**SHOP, "agent_name": "BlueLake", "status": "busy"})

    assert warned.startswith("Warning: the archive of ")
    assert warned.endswith("Nothing is lost: the next start goes on with it.\n")
    assert after_reading == []
    assert len(archives(settings)) == 1
    assert capsys.readouterr().err == ""


def test_over_archives_whose_database_is_lost_nothing_is_begun(settings: Settings) -> None:
    with opened(settings) as gateway:
        write_mail(gateway)
    settings.database_path.unlink()

    with pytest.raises(DatabaseLost), opened(settings):
        pass

    assert not settings.database_path.exists()


def test_a_content_that_is_lost_is_told_once_and_names_what_finds_it(settings: Settings, tmp_path: Path) -> None:
    with opened(settings) as gateway:
        write_mail(gateway)
        letter = {**SHOP, "sender_name": "Human", "to": ["BlueLake"], "subject": "Plan", "body_md": "x"}
        gateway.call(
            "send_message",
            {
                **letter,
                "attachment_paths": ["data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"],
            },
        )
    lost, *_ = (settings.storage_root / "attachments").glob("??/*")
    shutil.rmtree(settings.storage_root / "attachments")

    done = am(
        *("mail", "attachment", lost.name, "--project", "/code/shop", "-o", str(tmp_path / "a")),
        home=tmp_path,
        STORAGE_ROOT=str(settings.storage_root),
    )

    assert (done.returncode, done.stdout) == (69, "")
    fact, hint = done.stderr.splitlines()
    assert fact.startswith("Error (UNAVAILABLE): ")
    assert "am doctor verify" in hint
    assert not (tmp_path / "a").exists()


def test_who_calls_has_the_rights_that_were_proven_and_no_others(settings: Settings) -> None:
    with opened(settings) as gateway:
        write_mail(gateway)
    agent = InProcessGateway(settings, caller=Credentials(via="local"))
    agent.open()
    try:
        found = agent.call("whois", {**SHOP, "agent_name": "BlueLake"})
        with pytest.raises(PermissionDenied):
            agent.call("reissue_token", {**SHOP, "agent_name": "BlueLake"})
    finally:
        agent.close()

    assert found["name"] == "BlueLake"
