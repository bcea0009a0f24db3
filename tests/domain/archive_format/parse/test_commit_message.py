from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.commit_message import FORCE, CommitText
from mcp_agent_mail.domain.archive_format.parse.commit_message import SealedText, number_of, parse_commit
from mcp_agent_mail.domain.events import EventKind

lines = st.one_of(
    st.sampled_from(["mail: a -> b | c", "Outbox-Seq: 9", "Agent: Mallory", "Did: Mallory mail", "Archive-Format: 7"]),
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20),
)

acts = st.sampled_from([*(kind.value for kind in EventKind), FORCE])
names = st.sampled_from(["BlueLake", "RedStone", "GreyOwl@lib-1"])


@given(
    st.builds(
        CommitText,
        subject=lines,
        agents=st.lists(names, max_size=3).map(tuple),
        last_seq=st.integers(0, 1 << 50).map(OutboxSeq),
        lines=st.lists(lines, max_size=3).map(tuple),
        version=st.sampled_from([None, 2]),
        did=st.dictionaries(names, st.frozensets(acts, min_size=1), max_size=3),
    )
)
def test_what_a_commit_says_is_read_and_nothing_that_its_lines_tell(text: CommitText) -> None:
    assert parse_commit(text.message) == SealedText(
        subject=text.subject, agents=text.agents, last_seq=text.last_seq, version=text.version, did=text.did
    )


def test_of_what_an_agent_did_what_a_later_program_knows_is_passed_over() -> None:
    said = parse_commit("mail\n\nAgent: BlueLake\nDid: BlueLake dream, mail\nDid: Human force\nOutbox-Seq: 5\n")

    assert said.did == {"BlueLake": {"mail"}, "Human": {"force"}}


def test_a_commit_of_a_person_has_no_number() -> None:
    sealed = parse_commit("Tidied\n\nOutbox-Seq: 5 as it says\nAgent: BlueLake\n")

    assert (sealed.subject, sealed.last_seq, sealed.version) == ("Tidied", None, None)


@pytest.mark.parametrize("number", [(1 << 53) + 1, 10**17, 10**40])
def test_a_number_above_all_that_are_given_out_is_none(number: int) -> None:
    said = parse_commit(f"mail\n\nOutbox-Seq: {number}\nArchive-Format: {number}\n")

    assert (said.last_seq, said.version) == (None, None)
    assert number_of(str(1 << 53)) == 1 << 53
