"""What is known of all messages before the first is given."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.store.foreign.mail_index import ArchivedPlace, MatchingRow, open_mail_index


def _place(key: str, number: int, created: int) -> ArchivedPlace:
    return ArchivedPlace(key=key, number=number, created_ts=Micros(created), slug="app", path=f"messages/{key}.md")


def test_archived_mail_comes_oldest_first_and_a_second_file_of_it_is_noticed() -> None:
    with open_mail_index() as index:
        added = [
            index.add_archived(_place(key, number, at)) for key, number, at in (("b", 2, 9), ("a", 1, 9), ("c", 3, 1))
        ]

        assert added == [True, True, True]
        assert index.add_archived(_place("a", 1, 9)) is False
        assert [place.key for place in index.archived()] == ["c", "a", "b"]


def test_of_a_number_that_was_used_twice_the_newest_older_one_is_meant() -> None:
    with open_mail_index() as index:
        for key, at in (("first", 10), ("second", 20)):
            index.add_archived(_place(key, 7, at))

        assert index.find_archived(7, before=Micros(30)) == "second"
        assert index.find_archived(7, before=Micros(20)) == "first"
        assert index.find_archived(7, before=Micros(10)) is None
        assert index.find_archived(8, before=Micros(30)) is None


def test_joined_rows_are_found_by_each_of_them_and_others_are_alone() -> None:
    with open_mail_index() as index:
        index.join([9, 4, 6])

        assert index.rows_of_mail(9) == index.rows_of_mail(4) == [4, 6, 9]
        assert index.rows_of_mail(5) == [5]


def test_likely_rows_of_one_digest_stand_together() -> None:
    with open_mail_index() as index:
        for sender, digest, number in (("a", b"2", 1), ("a", b"1", 3), ("a", b"2", 2), ("a", b"1", 4)):
            index.add_likely(
                MatchingRow(sender=sender, digest=digest, created_ts=Micros(0), number=number, project="p")
            )

        assert [row.number for row in index.likely()] == [3, 4, 1, 2]
