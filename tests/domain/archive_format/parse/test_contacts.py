from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedContact, ArchivedParty
from mcp_agent_mail.domain.archive_format.parse.contacts import parse_contact, render_contact


def link(target_project: int) -> ArchivedContact:
    return ArchivedContact(
        id=1,
        source=ArchivedParty(agent_id=AgentId(1), name="BlueLake", project_id=ProjectId(1), project_key="/code/app"),
        target=ArchivedParty(
            agent_id=AgentId(2), name="GreyOwl", project_id=ProjectId(target_project), project_key="/code/lib"
        ),
        status="approved",
        reason="",
        created_ts=Micros(0),
        updated_ts=Micros(1),
        expires_ts=None,
    )


@pytest.mark.parametrize("path", ["contacts/BlueLake@app-1/GreyOwl.json", "contacts/BlueLake/GreyOwl@lib-1.json"])
def test_a_link_across_projects_lies_in_both_archives(path: str) -> None:
    assert parse_contact(path, render_contact(link(2))) == link(2)


@pytest.mark.parametrize(
    ("path", "target_project"),
    [
        ("contacts/BlueLake/GreyOwl.json", 2),
        ("contacts/BlueLake@app-1/GreyOwl@lib-1.json", 2),
        ("contacts/BlueLake/GreyOwl@lib-1.json", 1),
        ("contacts/GreyOwl/BlueLake.json", 1),
        ("contacts/BlueLake/GreyOwl/GreyOwl.json", 1),
        ("contacts/BlueLake/GreyOwl@.json", 2),
    ],
)
def test_a_link_that_lies_elsewhere_is_not_read(path: str, target_project: int) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_contact(path, render_contact(link(target_project)))
