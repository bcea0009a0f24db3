from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail, ArchivedRecipient
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.features.recovery.mail_copies import (
    ArchiveCopies,
    CopiesDiffer,
    WholeMail,
    copies_of,
    whole_mail,
)

HOME, THERE = ProjectId(1), ProjectId(2)
NAMES = {(THERE, "Fox"): AgentId(20), (THERE, "Hidden"): AgentId(21), (HOME, "Red"): AgentId(11)}


def recipient(agent_id: int, name: str, seq: int | None, kind: RecipientKind = RecipientKind.TO) -> ArchivedRecipient:
    return ArchivedRecipient(
        agent_id=AgentId(agent_id),
        name=name,
        kind=kind,
        delivery_seq=seq,
        delivered_ts=None if seq is None else Micros(seq),
        held_code=None if seq is not None else "contact_required",
        status=None if seq is not None else "held",
        refused_ts=None,
    )


def mail(sender: str, *recipients: ArchivedRecipient) -> ArchivedMail:
    return ArchivedMail(
        id=MessageId(7),
        project_id=HOME,
        project_slug="home",
        project_key="/home",
        sender_id=AgentId(10),
        sender=sender,
        thread_id=None,
        topic=None,
        subject="Plan",
        body_md="body",
        importance=Importance.NORMAL,
        ack_required=False,
        created_ts=Micros(1),
        reply_to=None,
        is_system=False,
        is_private=False,
        purged_ts=None,
        attachments=(),
        recipients=recipients,
    )


def of_home(*recipients: ArchivedRecipient) -> ArchiveCopies:
    full = mail("Blue", *recipients)
    shown = replace(full, recipients=tuple(one for one in recipients if one.kind is not RecipientKind.BCC))
    inboxes = [one.name for one in recipients if "@" not in one.name and one.delivery_seq is not None]
    return copies_of(HOME, "home", shown, full, inboxes)


def of_there(*recipients: ArchivedRecipient, inboxes: tuple[str, ...] = ("Fox",)) -> ArchiveCopies:
    return copies_of(THERE, "there", mail("Blue@home", *recipients), None, inboxes)


def whole(*copies: ArchiveCopies) -> WholeMail:
    return whole_mail(
        copies,
        HOME,
        lambda one, name: {"home": HOME, "there": THERE}[name.partition("@")[2] or one.slug],
        lambda project_id, name: NAMES.get((project_id, name)),
    )


FOX_HERE, FOX_THERE = recipient(20, "Fox@there", 5), recipient(20, "Fox", 5)
RED = recipient(11, "Red", 4)


def test_copies_that_agree_are_one_message_in_the_order_addressed() -> None:
    found = whole(of_home(RED, FOX_HERE), of_there(recipient(11, "Red@home", 4), FOX_THERE))

    assert [(one.agent_id, one.name, one.project_id, one.delivery_seq) for one in found.recipients] == [
        (11, "Red", HOME, 4),
        (20, "Fox", THERE, 5),
    ]
    assert (found.sender, found.behind) == ("Blue", frozenset())


def test_an_approval_that_one_archive_knows_counts_and_the_other_is_behind() -> None:
    held = recipient(20, "Fox@there", None)

    found = whole(of_home(RED, held), of_there(recipient(11, "Red@home", 4), replace(FOX_THERE, held_code="c")))

    assert [one.delivery_seq for one in found.recipients] == [4, 5]
    assert found.behind == {HOME}


def test_a_purge_that_one_archive_knows_counts() -> None:
    gone = of_there(recipient(11, "Red@home", 4), FOX_THERE)
    gone = replace(gone, shown=replace(gone.shown, purged_ts=Micros(9), body_md="gone"))

    found = whole(of_home(RED, FOX_HERE), gone)

    assert found.mail.body_md == "gone"
    assert found.behind == {HOME}


def test_who_has_a_copy_that_only_the_sender_could_name_is_a_blind_recipient_without_a_number() -> None:
    found = whole(of_there(recipient(11, "Red@home", 4), FOX_THERE, inboxes=("Fox", "Hidden")))

    assert [(one.name, one.kind, one.is_unnumbered) for one in found.recipients][-1] == (
        "Hidden",
        RecipientKind.BCC,
        True,
    )
    assert found.behind == {HOME}


def test_a_copy_of_which_the_sender_knows_nothing_is_refused() -> None:
    with pytest.raises(CopiesDiffer, match="which its sender does not know"):
        whole(of_home(RED, FOX_HERE), of_there(recipient(11, "Red@home", 4), FOX_THERE, inboxes=("Fox", "Hidden")))


def test_an_archive_without_a_copy_for_whom_it_names_is_refused() -> None:
    with pytest.raises(CopiesDiffer, match="Fox has no copy"):
        of_there(FOX_THERE, inboxes=())


def test_a_sender_s_copy_that_names_others_than_the_project_s_is_refused() -> None:
    full = mail("Blue", RED)

    with pytest.raises(CopiesDiffer, match="different things"):
        copies_of(HOME, "home", replace(full, subject="Another"), full, ["Red"])
