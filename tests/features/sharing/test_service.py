from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.sharing import service as sharing
from mcp_agent_mail.features.sharing.results import SharedMail
from mcp_agent_mail.features.sharing.service import NothingToShare, ShareRequest, TooMuchToShare
from tests.given_mail import GivenMail, all_text, human_of
from tests.image_samples import corner_lit, encoded


def _collected(given: GivenMail, *threads: str) -> SharedMail:
    with given.service() as service:
        return service.collect(ShareRequest(project_keys=[given.app.human_key], threads=threads))


def _subjects(mail: SharedMail) -> list[str]:
    return [one.subject for project in mail.projects for one in project.messages]


def test_only_mail_that_every_agent_may_read_and_that_stands_is_given(given: GivenMail) -> None:
    given.send([given.red], subject="Open")
    given.send([], bcc=[given.red], subject="Blind alone")
    given.send([given.red], subject="Held", held=True)
    given.send([given.red], subject="Private", is_private=True)
    given.send([given.red], subject="Notice", is_system=True)
    withdrawn = given.send([given.red], subject="Withdrawn unread")
    given.harness.tx.ladder.withdraw(withdrawn.id, given.harness.clock(), "wrong")
    read = given.send([given.red], subject="Withdrawn after reading")
    given.harness.tx.inboxes.mark_read(given.red.id, read.id, given.harness.clock())
    given.harness.tx.ladder.withdraw(read.id, given.harness.clock(), "wrong")
    half = given.send([given.red, human_of(given)], subject="Withdrawn after one of two read it", thread="T-1")
    given.harness.tx.inboxes.mark_read(given.red.id, half.id, given.harness.clock())
    given.harness.tx.ladder.withdraw(half.id, given.harness.clock(), "wrong")
    given.send([human_of(given)], sender=given.red, subject="To the person", thread="T-1")

    assert _subjects(_collected(given)) == ["Open", "To the person"]
    assert _subjects(_collected(given, "T-1")) == ["To the person"]


def test_blind_and_held_copies_of_open_mail_are_nowhere(given: GivenMail, tmp_path: Path) -> None:
    ghost = given.harness.add_agent(given.app, "GhostOwl")
    given.send([given.red], bcc=[ghost], subject="Open")

    given.export(tmp_path / "out")

    assert "GhostOwl" not in all_text(tmp_path / "out")
    assert "RedStone" in all_text(tmp_path / "out")


def test_no_path_and_no_slug_of_the_store_is_in_a_bundle(given: GivenMail, tmp_path: Path) -> None:
    given.send([given.red], body=f"It lies in {given.app.human_key}/src and {given.lib.human_key}/src.")
    given.send([given.blue], sender=given.fox, subject=f"From QuietFox@{given.lib.slug} in lib to {given.app.slug}")

    given.export(tmp_path / "out")

    text = all_text(tmp_path / "out")
    assert "From QuietFox@another-project in lib to app" in text
    assert "app/src and another-project/src" in text
    for word in ("/code/wares", given.app.slug, given.lib.slug, str(given.harness.root)):
        assert word not in text


def test_threads_narrow_it_and_their_agents_with_it(given: GivenMail) -> None:
    green = given.harness.add_agent(given.app, "GreenField")
    given.send([given.red], subject="In", thread="T-1")
    given.send([green], subject="Out", thread="T-2")

    mail = _collected(given, "T-1")

    assert _subjects(mail) == ["In"]
    assert [agent.name for agent in mail.projects[0].agents] == ["BlueLake", "RedStone"]


def test_a_thread_is_given_with_the_message_that_it_begins_with(given: GivenMail) -> None:
    root = given.send([given.red], subject="Begins", thread="T-1")
    given.send([given.blue], sender=given.red, subject="Answers", thread=str(root.id))
    asked = given.send([given.red], subject="Asks")
    given.send([given.blue], sender=given.red, subject="Tells", thread=str(asked.id))
    given.send([given.red], subject="Out")

    (alone,) = _collected(given, str(asked.id)).projects
    everything = _collected(given).projects[0].threads

    assert [one.subject for one in alone.messages] == ["Asks", "Tells"]
    assert [one.subject for one in alone.threads[str(asked.id)]] == ["Asks", "Tells"]
    assert list(everything) == ["T-1", str(root.id), str(asked.id)]
    assert _subjects(_collected(given, "T-1", str(root.id), "T-1")) == ["Begins", "Answers"]


def test_two_projects_of_one_name_have_folders_of_their_own(given: GivenMail) -> None:
    other = given.harness.add_project("/elsewhere/app")
    search = given.harness.add_project("/elsewhere/search")
    given.send([given.red])
    with given.service() as service:
        keys = [one.human_key for one in (given.app, other, search)]
        mail = service.collect(ShareRequest(project_keys=keys))

    assert [project.slug for project in mail.projects] == ["app", "app-2", "search-2"]


def test_what_is_not_there_is_refused(given: GivenMail, tmp_path: Path) -> None:
    with pytest.raises(NothingToShare):
        given.export(tmp_path / "out")
    with pytest.raises(UnknownProject):
        given.export(tmp_path / "out", "/code/none")
    assert not (tmp_path / "out").exists()


def test_more_mail_than_a_bundle_holds_is_refused(given: GivenMail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MOST_MESSAGES", 2)
    for _ in range(3):
        given.send([given.red])

    with pytest.raises(TooMuchToShare):
        _collected(given)


def test_images_and_text_are_given_and_what_may_hide_secrets_is_named(given: GivenMail) -> None:
    image = encoded(corner_lit(), "PNG")
    telling = image + b"\nOPENAI=sk-proj-abcdefghijklmnopqrstuvwx\n"
    carried = [
        given.attachment(image, "a.png", "image/png"),
        given.attachment(telling, "b.png", "image/png"),
        given.attachment(b"<script>token=abcdefgh</script>", "c.html", "text/html"),
        given.attachment(b"PK\x03\x04\0\xff", "d.zip", "application/zip"),
    ]
    given.send([given.red], attachments=carried)
    with given.service() as service:
        (message,) = service.collect(ShareRequest(project_keys=[given.app.human_key])).projects[0].messages
        found = [service.content(one) for one in message.attachments]

    assert [(one.extension, one.is_image, bool(one.why_left)) for one in found] == [
        ("png", True, False),
        ("", False, True),
        ("txt", False, False),
        ("", False, True),
    ]
    assert found[0].content == image
    assert b"abcdefgh" not in (found[2].content or b"")


def test_the_folder_of_a_long_name_is_short(given: GivenMail) -> None:
    long = given.harness.add_project(f"/elsewhere/{'x' * 39}-{'y' * 20}")
    given.send([given.red])
    with given.service() as service:
        mail = service.collect(ShareRequest(project_keys=[given.app.human_key, long.human_key]))

    assert [project.slug for project in mail.projects] == ["app", "x" * 39]
