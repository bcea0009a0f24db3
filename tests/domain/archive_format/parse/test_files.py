from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import to_datetime
from mcp_agent_mail.core.settings.kinds import BadValue, PathContext
from mcp_agent_mail.core.settings.rows import ROWS
from mcp_agent_mail.domain.archive_format.artifacts import (
    ArchivedAgent,
    ArchivedContact,
    ArchivedLease,
    ArchivedMail,
    ArchivedOverdueNotice,
    ArchivedProductLink,
    ArchivedReceipts,
    Artifact,
)
from mcp_agent_mail.domain.archive_format.layout import subject_slug
from mcp_agent_mail.domain.archive_format.parse.files import (
    UnreadableArtifact,
    most_bytes_of,
    parse_file,
    render_artifact,
    require_size,
)
from mcp_agent_mail.domain.archive_format.parse.leases import lease_file_of
from mcp_agent_mail.domain.archive_format.versions import block_folder
from mcp_agent_mail.domain.messages import MOST_BODY_BYTES
from tests.domain.archive_format.parse import values

GOLDEN = Path(__file__).parents[3] / "golden" / "archive"
FILES = sorted(
    (path.relative_to(GOLDEN).as_posix().partition("/")[2], path.read_bytes())
    for path in GOLDEN.rglob("*")
    if path.is_file() and path.parent not in (GOLDEN, GOLDEN / "threads") and "/attachments/" not in path.as_posix()
)
OWN = [file for file in FILES if parse_file(*file, 2) is not None]
versions = st.sampled_from([1, 2])


def read(path: str, artifact: Artifact, version: int) -> Artifact | None:
    return parse_file(path, render_artifact(artifact, path, version), version)


def tail_of(mail: ArchivedMail, version: int) -> str:
    at = to_datetime(mail.created_ts)
    name = f"{at:%Y-%m-%dT%H-%M-%SZ}__{subject_slug(mail.subject)}__{mail.id}.md"
    return f"{at:%Y/%m}/{block_folder(mail.id, version)}/{name}"


@pytest.mark.parametrize(("path", "content"), FILES)
def test_what_is_read_of_a_golden_file_is_written_byte_for_byte(path: str, content: bytes) -> None:
    artifact = parse_file(path, content, 2)

    assert artifact is not None
    assert render_artifact(artifact, path, 2) == content


@given(values.mails(), versions)
def test_a_sent_mail_is_read_as_it_was_written(mail: ArchivedMail, version: int) -> None:
    assert read(f"agents/{mail.sender}/outbox/{tail_of(mail, version)}", mail, version) == mail


@given(values.mails(with_blind=False), versions)
def test_a_mail_that_came_is_read_as_it_was_written(mail: ArchivedMail, version: int) -> None:
    assert read(f"agents/Reader/inbox/{tail_of(mail, version)}", mail, version) == mail


@given(values.projects)
def test_a_project_is_read_as_it_was_written(project: Artifact) -> None:
    assert read("archive.json", project, 2) == project


@given(values.agents())
def test_an_agent_is_read_as_it_was_written(agent: ArchivedAgent) -> None:
    assert read(f"agents/{agent.name}/profile.json", agent, 2) == agent


@given(values.receipts)
def test_receipts_are_read_as_they_were_written(receipts: ArchivedReceipts) -> None:
    assert read("receipts/2026/11/21/7.jsonl", receipts, 2) == receipts


@given(values.contacts)
def test_a_link_is_read_as_it_was_written(contact: ArchivedContact) -> None:
    is_across = contact.source.project_id != contact.target.project_id
    target = f"{contact.target.name}@lib-9f8e7d" if is_across else contact.target.name

    assert read(f"contacts/{contact.source.name}/{target}.json", contact, 2) == contact


@given(values.leases(), versions)
def test_a_lease_is_read_as_it_was_written(lease: ArchivedLease, version: int) -> None:
    assert read(lease_file_of(lease, version)[0], lease, version) == lease


@given(values.links)
def test_a_product_is_read_as_it_was_written(link: ArchivedProductLink) -> None:
    assert read(f"products/{link.product.uid}.json", link, 2) == link


@given(values.notices, versions)
def test_an_overdue_notice_is_read_as_it_was_written(notice: ArchivedOverdueNotice, version: int) -> None:
    block = block_folder(notice.message_id, version)

    assert read(f"agents/BlueLake/overdue/2026/11/{block}/id-{notice.message_id}.json", notice, version) == notice


@pytest.mark.parametrize(
    "path",
    [
        f"attachments/ab/{'ab' * 32}.png",
        "messages/threads/week-47.md",
        "README.md",
        "agents/BlueLake/notes.txt",
        "src/archive.json",
        ".gitignore",
    ],
)
def test_what_says_nothing_of_its_own_is_no_artifact(path: str) -> None:
    assert parse_file(path, b"\0 whatever", 2) is None


@pytest.mark.parametrize(("path", "content"), [file for file in OWN if "/overdue/" not in file[0]])
def test_under_another_id_month_block_or_agent_nothing_is_read(path: str, content: bytes) -> None:
    moved = {path.replace(*change) for change in _MOVES} - {path}

    read = [other for other in moved if not _is_refused(other, content)]

    assert read == []


_MOVES = [
    ("742", "743"),
    ("743", "742"),
    ("/11/500-999", "/12/500-999"),
    ("500-999", "0-499"),
    ("0-499", "500-999"),
    ("500-999", "1"),
    ("agents/BlueLake", "agents/GreyOwl"),
    ("id-7", "id-77"),
    ("id-8", "id-88"),
    ("id-9", "id-007"),
    ("released/2026/11/0-499/", ""),
    ("plan-for-the-week", "plan"),
    ("2026/11/21/4.jsonl", "2026/13/21/4.jsonl"),
    ("2026/11/21/4.jsonl", "2026/11/21/-4.jsonl"),
]


def _is_refused(path: str, content: bytes) -> bool:
    try:
        return parse_file(path, content, 2) is None
    except UnreadableArtifact:
        return True


@given(st.sampled_from(OWN), st.binary(min_size=1, max_size=3), st.integers(0, 2_000))
def test_a_damaged_file_is_unreadable_or_says_what_it_says(file: tuple[str, bytes], noise: bytes, place: int) -> None:
    path, content = file
    at = place % (len(content) + 1)
    damaged = content[:at] + noise + content[at + len(noise) :]

    try:
        artifact = parse_file(path, damaged, 2)
    except UnreadableArtifact:
        return

    assert artifact is not None
    assert parse_file(path, render_artifact(artifact, path, 2), 2) == artifact


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 2_000_000,
        b'{"a":' * 500_000,
        b'{"id": ' + b"9" * 5_000 + b"}",
        b'{"id": NaN}',
        b'{"id": 1, "id": 2}',
        b'{"id": "\\ud800"}',
        b"\xff\xfe",
        b"null",
        b"",
        b"{}" * (5 << 20),
    ],
    ids=["arrays", "objects", "huge number", "NaN", "twice", "surrogate", "no UTF-8", "null", "empty", "large"],
)
@pytest.mark.parametrize("path", ["archive.json", "products/0badcafe.json", "receipts/2026/11/21/4.jsonl"])
def test_a_hostile_file_is_unreadable(path: str, content: bytes) -> None:
    with pytest.raises(UnreadableArtifact) as refused:
        parse_file(path, content, 2)

    assert refused.value.path == path
    assert len(refused.value.reason) < 300


def test_keys_that_are_not_known_yet_are_no_fault() -> None:
    for path, content in OWN:
        if path.endswith(".json"):
            more = content.replace(b"{\n", b'{\n  "a_later_key": [1, {"b": null}],\n', 1)

            assert parse_file(path, more, 2) == parse_file(path, content, 2)


def test_nothing_is_read_of_a_version_that_is_not_known() -> None:
    with pytest.raises(UnreadableArtifact, match="version 3"):
        parse_file(*OWN[0], 3)


def test_of_what_is_read_nothing_may_be_larger_than_its_kind_and_of_the_rest_anything() -> None:
    for path, _ in OWN:
        most = most_bytes_of(path)
        assert most is not None
        require_size(path, most)
        with pytest.raises(UnreadableArtifact, match="too many"):
            require_size(path, most + 1)
        with pytest.raises(UnreadableArtifact, match="too many"):
            parse_file(path, bytes(most + 1), 2)
    require_size("messages/recording.bin", 1 << 40)
    assert most_bytes_of("messages/recording.bin") is None


def test_a_mail_may_have_the_longest_body_that_any_setting_allows() -> None:
    (row,) = [row for row in ROWS if row.name == "MESSAGE_BODY_MAX_BYTES"]

    place = PathContext(home=Path("/"), folder=Path("/"))
    assert row.kind.parse(f"{MOST_BODY_BYTES}", place) == MOST_BODY_BYTES
    with pytest.raises(BadValue):
        row.kind.parse(f"{MOST_BODY_BYTES + 1}", place)
