from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.messages import MAX_SUBJECT, Importance, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.messaging.overdue_notices import OverdueMessage, overseer_notice, sender_notice
from mcp_agent_mail.store.mail.overdue_acks import SilentRecipient
from tests.features.samples import APP, LIB, NOW, NOW_TEXT, a_message

LATER = Micros(NOW + 90 * 60 * SECOND)


def silent(
    name: str, kind: RecipientKind = RecipientKind.TO, *, project: Project = APP, read_ts: Micros | None = None
) -> SilentRecipient:
    return SilentRecipient(name, project.id, project.slug, kind, read_ts)


def late(*those: SilentRecipient, subject: str = "Plan", count: int | None = None, blind: int = 0) -> OverdueMessage:
    message = a_message(5, subject=subject, thread_id="T")
    return OverdueMessage(message=message, silent=those, count=len(those) if count is None else count, blind=blind)


def test_the_sender_is_told_since_when_and_who_has_at_least_read() -> None:
    notice = sender_notice(late(silent("RedStone", read_ts=NOW), silent("Fox", project=LIB)), LATER)

    assert (notice.subject, notice.thread_id, notice.importance) == ("Not acknowledged: Plan", "T", Importance.NORMAL)
    assert notice.body_md.splitlines()[0].startswith("Your message 5, `Plan`, asks for an acknowledgement. ")
    assert "90 minutes ago" in notice.body_md
    assert notice.body_md.splitlines()[2:4] == [f"- RedStone: read {NOW_TEXT}", "- Fox@code-lib: not read"]


def test_the_overseer_is_told_by_whom_and_loudly() -> None:
    notice = overseer_notice(late(silent("RedStone")), LATER)

    assert notice.importance is Importance.HIGH
    assert notice.body_md.startswith("BlueLake asked for an acknowledgement of message 5, `Plan`, 90 minutes ago")


def test_a_clock_that_was_set_back_makes_no_message_younger_than_now() -> None:
    assert " 0 minutes ago" in sender_notice(late(silent("RedStone")), Micros(NOW - SECOND)).body_md


def test_whom_it_does_not_name_it_counts() -> None:
    named = sender_notice(late(silent("RedStone"), count=3), LATER)
    all_of_them = sender_notice(late(silent("RedStone")), LATER)

    assert "- and 2 more" in named.body_md
    assert "more" not in all_of_them.body_md


@pytest.mark.parametrize("blind", [0, 1])
def test_a_notice_that_names_a_blind_copy_is_for_its_recipient_alone(blind: int) -> None:
    kind = RecipientKind.BCC if blind else RecipientKind.TO

    notice = sender_notice(late(silent("RedStone", kind), blind=blind), LATER)

    assert notice.is_private is bool(blind)
    assert ("- RedStone (blind copy): not read" in notice.body_md) is bool(blind)


@pytest.mark.parametrize(
    ("subject", "shown"),
    [("Plan", "`Plan`"), ("a `b` c", "``a `b` c``"), ("`b`", "`` `b` ``"), ("x``", "``` x`` ```"), ("`y", "`` `y ``")],
)
def test_a_subject_is_quoted_so_that_none_of_it_is_read_as_markdown(subject: str, shown: str) -> None:
    assert f"message 5, {shown}, asks" in sender_notice(late(silent("RedStone"), subject=subject), LATER).body_md


def test_a_subject_is_cut_where_no_longer_one_is_allowed() -> None:
    assert len(sender_notice(late(silent("RedStone"), subject="x" * MAX_SUBJECT), LATER).subject) == MAX_SUBJECT
