from __future__ import annotations

from typing import Annotated

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.params import Count, Flag, Text, Time
from mcp_agent_mail.core.resources import ResourceTable, UnknownResource, resource
from mcp_agent_mail.core.tools import Credentials, Json, current_credentials

ANYONE = Credentials(via="mcp", agent_token="token")


async def inbox(
    agent: Annotated[str, Text(64)],
    project: Annotated[str | None, Text(1024)] = None,
    since_ts: Annotated[int | None, Time()] = None,
    limit: Annotated[int, Count(1, 1000)] = 20,
) -> Json:
    """Mail of an agent."""
    return [agent, project, since_ts, limit]


async def project(slug: Annotated[str, Text(1024)]) -> Json:
    return {"project": slug, "token": current_credentials().agent_token}


async def projects(archived: Annotated[bool, Flag()] = False) -> Json:
    return [archived]


def table() -> ResourceTable:
    return ResourceTable(
        [
            resource(inbox, uri="resource://inbox/{agent}{?project,since_ts,limit}", name="inbox", title="Inbox"),
            resource(project, uri="resource://project/{slug}", name="project", title="Project"),
            resource(
                projects, uri="resource://projects{?archived}", name="projects", title="Projects", list_result=True
            ),
        ]
    )


@pytest.mark.parametrize(
    ("uri", "wanted"),
    [
        ("resource://inbox/BlueLake", ["BlueLake", None, None, 20]),
        ("resource://inbox/BlueLake/", ["BlueLake", None, None, 20]),
        ("RESOURCE://inbox/BlueLake", ["BlueLake", None, None, 20]),
        ("resource://inbox/Blue%20Lake%2F2?limit=5", ["Blue Lake/2", None, None, 5]),
        ("resource://inbox/B?project=%2Fcode%2Fa%26b", ["B", "/code/a&b", None, 20]),
        ("resource://inbox/B?project=/code/a b&limit=5", ["B", "/code/a b", None, 5]),
        ("resource://inbox/B?project=/code/a&b/c++&limit=5", ["B", "/code/a&b/c++", None, 5]),
        ("resource://inbox/B?project=/code/what?&limit=5", ["B", "/code/what?", None, 5]),
        ("resource://inbox/B?since_ts=1970-01-01T00:00:01+00:00", ["B", None, 1_000_000, 20]),
        ("resource://inbox/B?since_ts=1970-01-01T00%3A00%3A01%2B00%3A00", ["B", None, 1_000_000, 20]),
        ("resource://inbox/B?format=toon&colour=red&limit=", ["B", None, None, 20]),
        ("resource://inbox/B?limit=1&limit=2", ["B", None, None, 2]),
        ("resource://inbox/B?limit=99999", ["B", None, None, 1000]),
        ("resource://inbox/B?project=/code/a&", ["B", "/code/a", None, 20]),
        ("resource://inbox/B?", ["B", None, None, 20]),
        ("resource://project/%2Fcode%2Fapp", {"project": "/code/app", "token": "token"}),
        ("resource://project//code/app", {"project": "/code/app", "token": "token"}),
        ("resource://projects", [False]),
        ("resource://projects?archived=true", [True]),
    ],
)
async def test_a_uri_reads_its_resource(uri: str, wanted: Json) -> None:
    assert await table().read(uri, ANYONE) == wanted


@pytest.mark.parametrize(
    "uri", ["resource://inbox", "resource://inboxes/B", "resource://inbox/A/B", "resource://", "", "file:///etc/passwd"]
)
async def test_an_unknown_uri_is_not_found(uri: str) -> None:
    with pytest.raises(UnknownResource) as unknown:
        await table().read(uri, ANYONE)

    assert unknown.value.code == "NOT_FOUND"


async def test_an_unknown_uri_is_told_the_nearest() -> None:
    with pytest.raises(UnknownResource) as unknown:
        await table().read("resource://inbx/BlueLake?limit=3", ANYONE)

    assert "resource://inbox/{agent}{?project,since_ts,limit}" in unknown.value.data["nearest"]


@pytest.mark.parametrize(
    ("uri", "parameter"),
    [
        ("resource://inbox/B?limit=0", "limit"),
        ("resource://inbox/B?limit=many", "limit"),
        ("resource://inbox/B?since_ts=soon", "since_ts"),
        ("resource://inbox/", "agent"),
        ("resource://inbox/%20", "agent"),
        ("resource://inbox/a%00b", "agent"),
    ],
)
async def test_keys_follow_the_rules_of_tools(uri: str, parameter: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await table().read(uri, ANYONE)

    assert refused.value.data["parameter"] == parameter


def test_a_uri_without_placeholder_in_its_path_works_bare() -> None:
    assert [(spec.bare_uri, spec.is_static) for spec in table().specs()] == [
        ("resource://inbox/{agent}", False),
        ("resource://project/{slug}", False),
        ("resource://projects", True),
    ]


def test_a_signature_that_differs_from_the_uri_is_a_bug_of_the_declaration() -> None:
    with pytest.raises(AssertionError, match="the signature of project differs"):
        resource(project, uri="resource://project/{key}", name="project", title="Project")
