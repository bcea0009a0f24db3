from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.archive.reading.branch import BranchCommit
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import FORCE
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.features.recovery.passes.commit_events import (
    CommitEvent,
    acted_beside_mail,
    acted_in,
    changed_by_others,
    events_of,
    new_mail,
    told_of_receipts,
)


def commit(
    *changed: str,
    added: Sequence[str] = (),
    told: Sequence[str] = ("archive: records",),
    agents: Sequence[str] = (),
    did: Mapping[str, frozenset[str]] | None = None,
) -> BranchCommit:
    return BranchCommit(
        hexsha="a" * 40,
        parents=(),
        committed_ts=Micros(0),
        last_seq=OutboxSeq(9),
        agents=tuple(agents),
        subject=told[0],
        told=tuple(told),
        did=did or {},
        changed=changed,
        added=frozenset(added),
    )


LEASES = (EventKind.RESERVATION, EventKind.SLOT)
MAIL = "2026/11/0-499/2026-11-21T20-38-32Z__plan__7.md"


def test_each_kind_of_file_is_an_event_once() -> None:
    changed = commit(
        "archive.json",
        "agents/BlueLake/profile.json",
        f"messages/{MAIL}",
        f"agents/BlueLake/outbox/{MAIL}",
        f"agents/RedStone/inbox/{MAIL}",
        "receipts/2026/11/21/12.jsonl",
        "agents/RedStone/receipts/2026/11/21/13.jsonl",
        "agents/BlueLake/overdue/2026/11/0-499/id-7.json",
        "file_reservations/id-4.json",
        "file_reservations/released/2026/11/0-499/id-4.json",
        "build_slots/id-5.json",
        "products/0123abcd.json",
        "contacts/BlueLake/RedStone.json",
        "messages/threads/T-1.md",
        "attachments/aa/aa.txt",
        "notes.txt",
    )

    found = {(event.kind, event.subject) for event in events_of(changed)}

    assert found == {
        (EventKind.PROJECT, ""),
        (EventKind.PROFILE, "BlueLake"),
        (EventKind.MAIL, "7"),
        (EventKind.RECEIPT, "12"),
        (EventKind.RECEIPT, "13"),
        (EventKind.OVERDUE, "7"),
        (EventKind.RESERVATION, "4"),
        (EventKind.SLOT, "5"),
        (EventKind.PRODUCT, "0123abcd"),
        (EventKind.CONTACT, "contacts/BlueLake/RedStone.json"),
    }
    assert len(list(events_of(changed))) == len(found)


def test_an_adoption_is_one_event_whatever_it_wrote() -> None:
    for subject in ("adopt: lib into app", "archive: names after an adoption"):
        changed = commit("archive.json", f"messages/{MAIL}", told=(subject,))

        assert list(events_of(changed)) == [CommitEvent(kind=EventKind.ADOPTION)]


def test_what_changes_a_message_that_was_sent_before_does_not_bring_it_anew() -> None:
    sent, inbox = f"agents/BlueLake/outbox/{MAIL}", f"agents/RedStone/inbox/{MAIL}"
    own = f"messages/{MAIL}"

    assert new_mail(commit(sent, inbox, added=[sent, inbox])) == {7: frozenset()}
    assert new_mail(commit(sent, inbox, added=[inbox])) == {}
    assert new_mail(commit(sent, inbox, own, added=[own, inbox])) == {}


def test_what_comes_to_another_archive_names_those_whose_copies_are_new() -> None:
    own, inbox = f"messages/{MAIL}", f"agents/RedStone/inbox/{MAIL}"
    other = f"agents/GreenField/inbox/{MAIL}"

    assert new_mail(commit(own, inbox, added=[own, inbox])) == {7: frozenset({"RedStone"})}
    assert new_mail(commit(inbox, other, added=[inbox])) == {7: frozenset({"RedStone"})}
    assert new_mail(commit(own, inbox, other, added=[other])) == {}


def test_an_agent_whose_profile_was_merely_written_did_not_act() -> None:
    told = ["profile of RedStone (+2)", "profile of GreenField", "mail: BlueLake -> RedStone | RedStone retired"]
    lines = (("GreenField retired", {"GreenField"}), ("slot a of BlueLake ended by force", {"RedStone", "GreenField"}))

    def acting(*more: str) -> frozenset[str]:
        return acted_in(commit(told=[*told, *more], agents=["BlueLake", "GreenField", "RedStone"]))

    assert acting() == {"BlueLake"}
    for line, also in (*lines, ("and 4 more", {"RedStone", "GreenField"})):
        assert acting(line) == {"BlueLake", *also}


def test_of_whose_receipts_a_commit_tells_is_read_from_its_lines() -> None:
    told = commit(told=("profile of RedStone (+2)", "BlueLake read 7", "GreenField joined"))

    assert told_of_receipts(told) == {"BlueLake"}


def test_what_others_changed_of_an_agent_is_no_act_of_its_own() -> None:
    told = (
        "RedStone read 7 (+6)",
        "profile of RedStone",
        "profile of BlueLake",
        "BlueLake changed its profile",
        "slot web of RedStone expired",
        "reservation src/of it of GreyOwl ended by force",
        "GreyOwl renewed src/**",
    )

    assert changed_by_others(commit(told=told)) == {
        (EventKind.PROFILE, "RedStone"),
        (EventKind.RESERVATION, "RedStone"),
        (EventKind.SLOT, "RedStone"),
    }


def test_the_first_line_is_told_with_how_many_others_there_are() -> None:
    assert changed_by_others(commit(told=("profile of RedStone (+1)", "RedStone read 7"))) == {
        (EventKind.PROFILE, "RedStone")
    }


def test_where_the_lines_do_not_tell_everything_it_is_known_by_what_each_agent_did() -> None:
    did = {
        "BlueLake": frozenset({EventKind.MAIL, EventKind.PROFILE}),
        "RedStone": frozenset({EventKind.RECEIPT, EventKind.RESERVATION}),
        "Human": frozenset({FORCE}),
        "GreyOwl": frozenset({EventKind.MAIL, EventKind.RECEIPT}),
    }
    told = ("profile of BlueLake (+60)", "profile of RedStone", "and 11 more")
    cut = commit(told=told, agents=list(did), did=did)

    assert acted_in(cut) == did.keys()
    assert acted_beside_mail(cut) == {"BlueLake", "RedStone", "Human"}
    assert told_of_receipts(cut) == {"RedStone", "GreyOwl"}
    assert changed_by_others(cut) == {
        *((kind, "BlueLake") for kind in LEASES),
        *((kind, "RedStone") for kind in (EventKind.PROFILE, EventKind.SLOT)),
        *((kind, one) for one in ("Human", "GreyOwl") for kind in (*LEASES, EventKind.PROFILE)),
    }


def test_who_did_something_beside_mail_is_read_from_lines_that_begin_with_it() -> None:
    told = (
        "BlueLake renewed src/** (+6)",
        "RedStone read 7",
        "mail: GreyOwl -> RedStone | Zoe reserved src/**",
        "slot web of GreyOwl expired",
        "profile of RedStone",
        "Human linked product Shop",
        "Guest joined",
    )

    found = acted_beside_mail(commit(told=told, agents=["BlueLake", "RedStone", "GreyOwl", "Human", "Zoe"]))

    assert found == {"BlueLake", "Human"}


def test_of_an_earlier_programs_commit_that_does_not_tell_everything_nothing_is_known() -> None:
    assert changed_by_others(commit(told=("profile of RedStone (+60)", "RedStone read 7", "and 11 more"))) == set()
