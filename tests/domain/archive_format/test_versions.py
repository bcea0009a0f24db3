from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.archive_format.versions import (
    FORMAT_VERSION,
    OLDEST_VERSION,
    block_folder,
    converted_archive_file,
    converted_folder,
    converted_mail,
    former_folder,
    is_lease_name,
    is_mail_name,
    mail_end,
    version_in,
)


@pytest.mark.parametrize(("number", "named"), [(0, "0-499"), (1, "0-499"), (499, "0-499"), (500, "500-999")])
def test_a_block_is_named_for_the_ids_it_may_hold(number: int, named: str) -> None:
    assert block_folder(number, FORMAT_VERSION) == named
    assert block_folder(number, OLDEST_VERSION) == str(number // 500)


@given(number=st.integers(0, 10**12))
def test_a_folder_is_converted_to_what_is_written_now_and_back(number: int) -> None:
    before, now = (f"agents/A/inbox/2026/11/{block_folder(number, version)}" for version in (1, 2))

    assert converted_folder(before) == now
    assert former_folder(now) == before
    assert converted_folder(now) is None
    assert former_folder(before) is None


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "messages",
        "messages/2026/11",
        "receipts/2026/11/21",
        "agents/A/receipts/2026/11/21",
        "mine/2026/11/0",
        "file_reservations/2026/11/0",
        "messages/2026/11/0/deeper",
        "agents/A/B/inbox/2026/11/0",
        "messages/2026/11/00",
    ],
)
def test_other_folders_stay_as_they_are(folder: str) -> None:
    assert converted_folder(folder) is None
    assert former_folder(folder) is None


def test_ended_leases_have_blocks_as_mail_has() -> None:
    assert converted_folder("build_slots/released/2026/11/3") == "build_slots/released/2026/11/1500-1999"
    assert converted_folder("file_reservations/released/2026/11/0") == "file_reservations/released/2026/11/0-499"


@pytest.mark.parametrize("body", [b"", b"text", b"text\n", b"\n\n"])
def test_a_converted_mail_is_what_is_written_now_and_the_body_comes_back(body: bytes) -> None:
    assert converted_mail(body + mail_end(OLDEST_VERSION)) == body + mail_end(FORMAT_VERSION)
    assert converted_mail(body).removesuffix(b"\n") == body


@pytest.mark.parametrize(
    ("name", "is_mail", "is_lease"),
    [
        (b"2026-11-21T21-00-00Z__plan__742.md", True, False),
        (b"id-7.json", False, True),
        (b"notes.md", False, False),
        (b"id-7.json.bak", False, False),
        (b"2026-11-21T21-00-00Z__plan__742.md\n", False, False),
    ],
)
def test_files_of_ours_are_known_by_their_names(name: bytes, is_mail: bool, is_lease: bool) -> None:
    assert (is_mail_name(name), is_lease_name(name)) == (is_mail, is_lease)


@pytest.mark.parametrize(
    ("content", "version"),
    [
        (b'{"format": 1}', 1),
        (b'{"format": 7}', 7),
        (b"{}", 1),
        (b"[]", 1),
        (b'{"format": "2"}', 1),
        (b'{"format": true}', 1),
        (b'{"format": -3}', 1),
    ],
)
def test_an_archive_says_its_version_and_is_of_the_oldest_where_it_does_not(content: bytes, version: int) -> None:
    assert version_in(content) == version


def test_the_archives_own_file_says_the_same_after_it_but_for_the_version() -> None:
    before = b'{"format": 1, "store_id": "x", "project": {"slug": "app", "id": 1}}'

    assert json.loads(converted_archive_file(before)) == json.loads(before) | {"format": FORMAT_VERSION}
