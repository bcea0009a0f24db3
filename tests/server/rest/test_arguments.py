from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.server.rest.arguments import (
    from_query,
    read_pairs,
    renamed,
    require_no_body,
    require_no_query,
    with_path,
    without_connection,
)


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        (b"", []),
        (b"a=1&b=&c&a=2", [("a", "1"), ("b", ""), ("c", ""), ("a", "2")]),
        (b"a=x+y%2B%26", [("a", "x y+&")]),
        ("a=é".encode(), [("a", "é")]),
        (b"a=%C3%A9", [("a", "é")]),
    ],
)
def test_a_query_is_read_as_forms_are_encoded(query: bytes, pairs: list[tuple[str, str]]) -> None:
    assert read_pairs(query) == pairs


@pytest.mark.parametrize("query", [b"a=%FF", b"a=\xe9", b"%C3=a", b"a=%ED%A0%80"])
def test_a_query_that_is_no_utf_8_is_refused(query: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_pairs(query)


def test_keys_of_the_connection_are_an_argument_where_the_route_has_one_of_that_name() -> None:
    pairs = [("project", "/code/app"), ("limit", "1"), ("format", "md")]

    assert without_connection(pairs, ()) == [("limit", "1")]
    assert without_connection(pairs, ("project",)) == [("project", "/code/app"), ("limit", "1")]


def test_only_a_list_may_be_repeated() -> None:
    assert from_query([("a", "1"), ("a", "2"), ("a", "3"), ("b", "4")], ("a", "b")) == {"a": ["1", "2", "3"], "b": "4"}
    with pytest.raises(InvalidInput, match="a is given more than once"):
        from_query([("a", "1"), ("a", "1")], ())


@pytest.mark.parametrize("name", ["sender_token", "registration_token"])
def test_a_token_in_a_query_is_refused_without_being_repeated(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_query([(name, "s3cret")], ())

    assert "s3cret" not in str(refused.value.to_wire())


def test_two_names_of_one_argument_are_not_both_given() -> None:
    assert renamed({"a": 1, "b": 2}, {"a": "c"}) == {"c": 1, "b": 2}
    with pytest.raises(InvalidInput):
        renamed({"a": 1, "c": 1}, {"a": "c"})


def test_what_stands_in_the_path_stands_nowhere_else() -> None:
    assert with_path({"a": 1}, {"id": "7"}, {"id": "message_id"}) == {"a": 1, "message_id": "7"}
    for given in ({"message_id": 7}, {"message_ids": [7]}):
        with pytest.raises(InvalidInput):
            with_path(given, {"id": "7"}, {"id": "message_id"}, ("message_ids",))


def test_arguments_stand_in_one_place() -> None:
    require_no_query([])
    require_no_body(b" ")
    with pytest.raises(InvalidInput):
        require_no_query([("a", "1")])
    with pytest.raises(InvalidInput):
        require_no_body(b"{}")
