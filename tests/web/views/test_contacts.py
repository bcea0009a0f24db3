from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId, ContactId, ProjectId
from mcp_agent_mail.domain.contacts import Contact, LinkStatus, Party
from mcp_agent_mail.web.views.contacts import (
    AnswerNotice,
    ContactView,
    answer_notice,
    contact_graph,
    is_answered_so,
    link_kinds,
)


def link(source: str, target: str, relation: str, standing: str, *, project: str = "app") -> ContactView:
    return ContactView(
        source=source if project == "app" else f"{source}@{project}",
        source_shown=source if project == "app" else f"{source} · the bills",
        source_name=source,
        source_project=project,
        target=target,
        target_shown=target,
        place="app",
        target_name=target,
        target_project="app",
        relation=relation,
        standing=standing,
        seen=relation,
        reason="",
        updated_ts=Micros(0),
        expires_ts=None,
    )


DAY_S = 86_400


def stored(status: LinkStatus, *, until_s: int | None = None) -> Contact:
    """GreenHill of the shop may, or may not, write to CopperOak of the bills, since the beginning of time."""
    ends = [
        Party(
            agent_id=AgentId(number),
            name=name,
            project_id=ProjectId(number),
            project_slug=f"code-{place}-{number}",
            project_key=f"/code/{place}",
        )
        for number, name, place in ((1, "GreenHill", "shop"), (2, "CopperOak", "bills"))
    ]
    return Contact(
        id=ContactId(7),
        source=ends[0],
        target=ends[1],
        status=status,
        reason="",
        created_ts=Micros(0),
        updated_ts=Micros(0),
        expires_ts=None if until_s is None else Micros(until_s * SECOND),
    )


def test_a_link_is_a_line_from_who_writes_with_its_standing() -> None:
    graph = contact_graph([link("A", "B", "pending", "asks"), link("B", "A", "approved", "may write")])

    assert [(one.source, one.target, one.kind, one.said, one.has_tip) for one in graph.lines] == [
        ("A", "B", "link-pending", "A to B: asks", True),
        ("B", "A", "link-approved", "B to A: may write", True),
    ]


def test_agents_of_one_name_are_two_by_their_projects() -> None:
    graph = contact_graph([link("A", "A", "approved", "may write", project="bills")])

    assert {(one.label, one.shown, one.name, one.href) for one in graph.agents} == {
        ("A@bills", "A · the bills", "A", "/mail/bills/agents/A"),
        ("A", "A", "A", "/mail/app/agents/A"),
    }
    assert len(graph.lines) == 1


def test_the_legend_has_what_there_is() -> None:
    links = [link("A", "B", "blocked", "denied"), link("A", "C", "pending", "asks"), link("A", "D", "pending", "asks")]

    assert link_kinds(links) == [("link-pending", "asks"), ("link-blocked", "denied")]


@pytest.mark.parametrize(
    ("did", "mail", "told"),
    [
        ("approved", "0", "Approved. No held mail was delivered: none waited."),
        ("approved", "1", "Approved. 1 held message was delivered."),
        ("denied", "2", "Denied. 2 held messages were returned to the sender."),
        ("denied", "<b>", "Denied."),
    ],
)
def test_what_an_answer_did_is_said_from_a_known_word_and_a_number_alone(did: str, mail: str, told: str) -> None:
    assert answer_notice(did, mail, None) == AnswerNotice(told=told)


@pytest.mark.parametrize("did", ["<b>", ""])
def test_nothing_is_said_without_a_known_word(did: str) -> None:
    assert answer_notice(did, "1", stored(LinkStatus.APPROVED)) is None


@pytest.mark.parametrize(
    ("did", "status", "told"),
    [
        ("approved", LinkStatus.APPROVED, "Approved: GreenHill · shop may write to CopperOak."),
        ("denied", LinkStatus.BLOCKED, "Denied: GreenHill · shop may not write to CopperOak."),
    ],
)
def test_both_are_named_and_where_it_can_be_taken_back(did: str, status: LinkStatus, told: str) -> None:
    notice = answer_notice(did, "", stored(status))

    assert notice == AnswerNotice(told=told, project="code-bills-2", place="bills")


@pytest.mark.parametrize(("did", "status"), [("approved", LinkStatus.BLOCKED), ("denied", LinkStatus.PENDING)])
def test_of_a_link_that_is_not_what_was_answered_nobody_is_named(did: str, status: LinkStatus) -> None:
    assert answer_notice(did, "", stored(status)) == AnswerNotice(told=f"{did.capitalize()}.")


@pytest.mark.parametrize(
    ("contact", "lasts_s", "is_so"),
    [
        (stored(LinkStatus.APPROVED, until_s=90), 90, True),
        (stored(LinkStatus.APPROVED, until_s=91), 90, False),
        (stored(LinkStatus.APPROVED, until_s=30 * DAY_S), 31 * DAY_S, True),
        (stored(LinkStatus.APPROVED, until_s=30 * DAY_S), 31 * DAY_S + 1, False),
        (stored(LinkStatus.APPROVED), 90, False),
        (stored(LinkStatus.APPROVED, until_s=50), 50, False),
        (stored(LinkStatus.APPROVED, until_s=90), None, False),
        (stored(LinkStatus.PENDING, until_s=90), 90, False),
        (stored(LinkStatus.BLOCKED), None, True),
        (stored(LinkStatus.BLOCKED, until_s=50), None, False),
        (stored(LinkStatus.BLOCKED), 90, False),
        (None, None, False),
    ],
)
def test_an_answer_was_given_where_it_still_stands_for_as_long(
    contact: Contact | None, lasts_s: int | None, is_so: bool
) -> None:
    assert is_answered_so(contact, lasts_s, Micros(60 * SECOND)) is is_so
