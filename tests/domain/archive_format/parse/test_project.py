from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAlias, ArchivedProject
from mcp_agent_mail.domain.archive_format.parse.project import parse_project, project_file
from mcp_agent_mail.domain.projects import AliasKind, Project

PROJECT = ArchivedProject(
    version=2,
    store_id="0f5ad5b0",
    project=Project(id=ProjectId(1), slug="app-1a2b3c", human_key="/code/app", created_ts=Micros(0), archived_ts=None),
    aliases=(ArchivedAlias(name="uid:1", kind=AliasKind.TIE, created_ts=None),),
)


def test_an_alias_from_before_times_were_kept_has_none() -> None:
    assert parse_project(project_file(PROJECT), 2) == PROJECT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'[{"alias": "uid:1", "kind": "tie"}]', b"[]"),
        (b'"tie"', b'"knot"'),
        (b'"kind": "tie"', b'"created_ts": 5, "kind": "tie"'),
        (b'"format": 2', b'"format": 1'),
        (b'"slug": "app-1a2b3c"', b'"slug": null'),
    ],
)
def test_anything_else_is_not_read(before: bytes, after: bytes) -> None:
    content = project_file(PROJECT)
    assert before in content

    with pytest.raises(ValueError, match=r"."):
        parse_project(content.replace(before, after), 2)
