from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.cli.commands.shown_messages import print_message, print_sent

SHA = "0f" * 32


def carried(name: str = "a plan.png") -> dict[str, Any]:
    return {"name": name, "media_type": "image/png", "bytes": 1_204, "sha256": SHA}


def message(*names: str) -> dict[str, Any]:
    facts = {"id": 7, "from": "BlueLake", "created_ts": "2026-01-01T00:00:00+00:00", "thread_id": None, "topic": None}
    return {**facts, "subject": "Plan", "body_md": "See it.", "attachments": [carried(name) for name in names]}


def test_each_attachment_is_a_line_with_its_digest_and_the_command_that_saves_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_message(message("a plan.png", "notes.txt"))

    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("attached\t")]
    assert shown == [
        f"attached\ta plan.png, image/png, 1,204 bytes, sha256 {SHA}: am mail attachment {SHA} -o 'a plan.png'",
        f"attached\tnotes.txt, image/png, 1,204 bytes, sha256 {SHA}: am mail attachment {SHA} -o notes.txt",
    ]


@pytest.mark.parametrize(
    ("name", "written"),
    [("-", "./-"), ("--force", "./--force"), ("~a", "'./~a'"), ("$(x)", "'$(x)'"), ("a\x1bb", "FILE")],
)
def test_a_name_of_a_peer_is_a_file_of_this_folder_and_nothing_else(
    capsys: pytest.CaptureFixture[str], name: str, written: str
) -> None:
    print_message(message(name), "/code/my app")

    assert f"-o {written} --project '/code/my app'\n" in capsys.readouterr().out


def test_a_send_says_what_was_stored_and_what_was_not(capsys: pytest.CaptureFixture[str]) -> None:
    payload = {**message("notes.txt"), "to": ["RedStone"], "cc": [], "bcc": []}
    left = [{"target": "gone.png", "reason": "missing"}]

    print_sent({"deliveries": [{"project": "/code", "payload": payload}], "images_left": left})

    told = capsys.readouterr().out
    assert f"attached\tnotes.txt, image/png, 1,204 bytes, sha256 {SHA}\n" in told
    assert "not attached\tgone.png: missing\n" in told


def test_a_message_that_holds_has_no_line_of_terms_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    print_message(message())

    names = [line.partition("\t")[0] for line in capsys.readouterr().out.split("\n\n")[0].splitlines()]
    assert names == ["id", "from", "sent", "subject"]


def test_a_message_says_how_long_it_holds_what_it_replaces_and_how_it_ended(capsys: pytest.CaptureFixture[str]) -> None:
    terms = {"valid_until": "2026-01-02T00:00:00+00:00", "supersedes": 3}
    ends = {"superseded_by": 9, "withdrawn_at": "2026-01-01T12:00:00+00:00", "withdrawn_reason": "Wrong branch"}

    print_message({**message(), **terms, **ends})

    told = capsys.readouterr().out
    assert (
        "flags\twithdrawn, superseded\nvalid until\t2026-01-02T00:00:00+00:00\nsupersedes\t3\nsuperseded by\t9\n"
        "withdrawn\t2026-01-01T12:00:00+00:00\nreason\tWrong branch\n"
    ) in told


def test_a_send_says_the_instant_until_which_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    payload = {**message(), "to": ["RedStone"], "cc": [], "bcc": [], "valid_until": "2999-01-01T00:00:00.000000+00:00"}

    print_sent({"deliveries": [{"project": "/code", "payload": {**payload, "supersedes": 3}}]})

    assert "valid until\t2999-01-01T00:00:00.000000+00:00\nsupersedes\t3\n" in capsys.readouterr().out
