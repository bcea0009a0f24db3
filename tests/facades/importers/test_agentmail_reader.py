"""AgentMail's mailboxes: lines in their order, half and broken ones by count, and nothing of the folder changed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import parse_time
from mcp_agent_mail.domain.agents import AgentStatus
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.records import NotCarried, SourceAgent, SourceMessage
from mcp_agent_mail.domain.importing.refusals import UnknownLayout
from mcp_agent_mail.facades.importers.sources import open_source
from tests.facades.importers.small_sources import make_agentmail
from tests.facades.importers.untouched import state_of


def _line(external_id: str, at: str, **more: object) -> str:
    fields = {"id": external_id, "from": "x", "to": "a", "message": external_id, "created_at": at, "read_flag": False}
    return json.dumps(fields | more)


def _store(folder: Path, **mailboxes: bytes | str) -> Path:
    place = folder / ".agentmail" / "mailboxes"
    place.mkdir(parents=True)
    for name, content in mailboxes.items():
        (place / f"{name}.jsonl").write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / ".agentmail"


def _read(path: Path) -> tuple[list[SourceMessage], list[NotCarried], list[str]]:
    with open_source("agentmail", path) as reader:
        reader.store()
        list(reader.projects())
        list(reader.agents())
        messages = list(reader.messages())
        return messages, list(reader.left_out()), [note.text for note in reader.notes()]


def _given(
    messages: list[SourceMessage], agents: dict[str, SourceAgent], name: str
) -> list[tuple[str | None, str, str, bool]]:
    """What one mailbox got."""
    return [
        (one.external_id, agents[one.sender_key].name, one.body_md, one.recipients[0].read_ts is not None)
        for one in messages
        if agents[one.recipients[0].agent_key].name == name
    ]


def test_every_line_comes_with_its_id_time_and_flag_in_the_order_of_its_mailbox(tmp_path: Path) -> None:
    path = make_agentmail(tmp_path / "repo", messages=80)
    lines: dict[str, list[dict[str, Any]]] = {
        file.stem: [json.loads(line) for line in file.read_text().splitlines()]
        for file in (path / "mailboxes").iterdir()
    }
    before = state_of(path)

    with open_source("agentmail", path) as reader:
        (project,) = reader.projects()
        agents = {agent.key: agent for agent in reader.agents()}
        messages = list(reader.messages())

    assert state_of(path) == before
    assert project.human_key == str(tmp_path / "repo")
    assert {name: _given(messages, agents, name) for name in lines} == {
        name: [(line["id"], line["from"], line["message"], line["read_flag"]) for line in written]
        for name, written in lines.items()
    }
    assert [one.created_ts for one in messages] == sorted(one.created_ts for one in messages)
    assert {one.door for one in messages} == {Door.AGENTMAIL}


def test_what_a_recipient_last_said_of_itself_is_its_status(tmp_path: Path) -> None:
    with open_source("agentmail", make_agentmail(tmp_path / "repo")) as reader:
        statuses = {agent.name: agent.status for agent in reader.agents()}

    assert {name: statuses[name] for name in ("alice", "bob", "quiet")} == {
        "alice": AgentStatus.BUSY,
        "bob": AgentStatus.READY,
        "quiet": AgentStatus.OFFLINE,
    }


def test_the_folder_around_it_may_be_named_as_well(tmp_path: Path) -> None:
    make_agentmail(tmp_path / "repo")

    assert _read(tmp_path / "repo") == _read(tmp_path / "repo" / ".agentmail")


def test_half_a_last_line_and_broken_lines_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    content = "\n".join([_line("1", "2026-03-01T08:00:00Z"), "not json", "[]", "", '{"id": "2"}', _line("3", "")])
    path = _store(tmp_path, a=f'{content}\n{{"id": "4", "from"')

    messages, left, notes = _read(path)

    assert [one.external_id for one in messages] == ["1", "3"]
    assert {one.why: one.count for one in left} == {
        "its line is no JSON object with id, from and message": 3,
        "it is half a line at the end of its mailbox: whoever wrote it was cut off": 1,
    }
    assert "Line 7 of the mailbox a is left out: it is half a line" in "\n".join(notes)


def test_a_last_line_without_its_end_is_read_where_it_is_whole(tmp_path: Path) -> None:
    messages, left, _ = _read(_store(tmp_path, a=_line("1", "2026-03-01T08:00:00Z")))

    assert ([one.external_id for one in messages], left) == (["1"], [])


def test_times_that_go_back_do_not_change_the_order_of_a_mailbox(tmp_path: Path) -> None:
    path = _store(
        tmp_path,
        a=f"{_line('1', '2026-03-01T08:00:05Z')}\n{_line('2', '2026-03-01T08:00:01Z')}\n",
        b=f"{_line('3', '2026-03-01T08:00:03Z')}\n",
    )

    messages, _, _ = _read(path)

    assert [one.external_id for one in messages] == ["3", "1", "2"]
    assert [one.created_ts for one in messages[1:]] == [
        parse_time("2026-03-01T08:00:05Z"),
        parse_time("2026-03-01T08:00:01Z"),
    ]


def test_a_mailbox_that_is_written_anew_while_it_is_read_is_as_it_was_at_one_instant(tmp_path: Path) -> None:
    lines = [_line(str(number), f"2026-03-01T08:{number // 60:02d}:{number % 60:02d}Z") for number in range(3_000)]
    path = _store(tmp_path, a="".join(f"{line}\n" for line in lines))
    mailbox = path / "mailboxes" / "a.jsonl"

    with open_source("agentmail", path) as reader:
        list(reader.projects())
        list(reader.agents())
        given = []
        for message in reader.messages():
            given.append(message.external_id)
            if len(given) in (10, 1_000):
                # As its program does: another file, in which each line that was read is longer.
                (tmp_path / "new").write_text("".join(f"{line.replace('false', 'true ')}  \n" for line in lines[500:]))
                (tmp_path / "new").replace(mailbox)
        left = list(reader.left_out())

    assert given == [str(number) for number in range(3_000)]
    assert left == []


def test_what_was_read_was_read_at_the_mailboxs_last_reading_at_the_latest(tmp_path: Path) -> None:
    path = _store(tmp_path, a=_line("1", "2026-03-01T08:00:00Z", read_flag=True) + "\n")
    (path / "recipients.jsonl").write_text('{"recipient": "A", "status": "odd", "last_read_at": 1772352009000}\nx\n')

    (message,), _, notes = _read(path)

    assert message.recipients[0].read_ts == parse_time("2026-03-01T08:00:09Z")
    assert notes == ["Line 2 of recipients.jsonl says nothing of a recipient."]


def test_a_mailbox_that_is_a_link_is_left_alone_and_said(tmp_path: Path) -> None:
    path = _store(tmp_path, a=_line("1", "2026-03-01T08:00:00Z") + "\n")
    (tmp_path / "secret").write_text(_line("9", "2026-03-01T08:00:00Z"))
    (path / "mailboxes" / "b.jsonl").symlink_to(tmp_path / "secret")

    messages, _, notes = _read(path)

    assert [one.external_id for one in messages] == ["1"]
    assert notes == ["mailboxes/b.jsonl is a link or no ordinary file, and is left alone."]


def test_a_name_that_is_no_utf_8_is_mended(tmp_path: Path) -> None:
    path = _store(tmp_path)
    mailbox = Path(os.fsdecode(os.fsencode(path / "mailboxes") + b"/a\xff.jsonl"))
    mailbox.write_text(_line("1", "2026-03-01T08:00:00Z") + "\n")

    with open_source("agentmail", path) as reader:
        assert [agent.name for agent in reader.agents()] == ["a\ufffd", "x"]
        for message in reader.messages():
            message.recipients[0].agent_key.encode()


def test_a_folder_without_mailboxes_is_refused_with_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()

    with pytest.raises(UnknownLayout, match="no folder `mailboxes`; it has src"), open_source("agentmail", tmp_path):
        pass


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.dictionaries(
                st.sampled_from(["id", "from", "to", "message", "read_flag", "created_at"]),
                st.one_of(st.none(), st.text(max_size=8), st.integers(), st.lists(st.none(), max_size=2)),
            ).map(lambda one: json.dumps(one).encode()),
        ),
        max_size=12,
    )
)
def test_every_line_is_given_or_counted_whatever_it_holds(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    content = b"\n".join(lines)
    path = _store(tmp_path_factory.mktemp("store"), a=content)

    messages, left, _ = _read(path)

    written = sum(1 for line in content.split(b"\n") if line.strip())
    assert len(messages) + sum(one.count for one in left) == written


def test_mail_is_called_the_same_though_its_mailbox_was_renamed_and_it_was_read(tmp_path: Path) -> None:
    path = make_agentmail(tmp_path / "repo")

    def known() -> tuple[str, list[str]]:
        with open_source("agentmail", path) as reader:
            return reader.store().store_id, sorted(one.key for one in reader.messages())

    before = known()
    mailboxes = path / "mailboxes"
    (mailboxes / "bob.jsonl").rename(mailboxes / "a-new-name.jsonl")
    for file in mailboxes.iterdir():
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        changed = [
            line | {"read_flag": True, "from": {"bob": "a-new-name"}.get(line["from"], line["from"])} for line in lines
        ]
        file.write_text("".join(f"{json.dumps(line)}\n" for line in changed), encoding="utf-8")

    assert known() == before
    assert len(set(before[1])) == 40
