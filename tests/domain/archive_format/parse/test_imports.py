from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.archive_format.imports import import_file, import_snapshot
from mcp_agent_mail.domain.archive_format.parse.files import UnreadableArtifact, parse_file, render_artifact
from mcp_agent_mail.domain.archive_format.parse.imports import parse_import
from mcp_agent_mail.domain.importing.records import SourceKind
from mcp_agent_mail.domain.importing.taken_records import ImportUnit, TakenRecord

UNIT = ImportUnit(
    id=742,
    project_id=ProjectId(3),
    system="postal",
    store_id="one",
    imported_ts=Micros(5),
    taken=(
        TakenRecord(kind=SourceKind.AGENT, key="alice", number=9, project_id=ProjectId(3)),
        TakenRecord(kind=SourceKind.MESSAGE, key="ü\n", number=11, project_id=ProjectId(3)),
    ),
)
PATH, CONTENT = import_file(import_snapshot(UNIT))


def test_a_unit_is_read_as_it_was_written() -> None:
    assert PATH == "imports/500-999/742.json"
    assert parse_import(PATH, CONTENT).unit == UNIT
    archived = parse_file(PATH, CONTENT, 2)
    assert archived is not None
    assert render_artifact(archived, PATH, 2) == CONTENT


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("imports/500-999/743.json", "", ""),
        ("imports/0-499/742.json", "", ""),
        (PATH, '"agents"', '"copies"'),
        (PATH, '"agents"', '"robots"'),
        (PATH, '"key": "alice"', '"key": ""'),
        (PATH, '"number": 9', '"number": -9'),
        (PATH, "742", "743"),
    ],
)
def test_anything_else_is_unreadable(path: str, before: str, after: str) -> None:
    with pytest.raises(UnreadableArtifact):
        parse_file(path, CONTENT.replace(before.encode(), after.encode()) if before else CONTENT, 2)
