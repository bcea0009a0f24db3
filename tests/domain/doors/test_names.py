from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.doors.names import (
    MAX_WIRE_NAME,
    Door,
    DoorNotLinked,
    NameOwnedElsewhere,
    OtherWay,
    UnfitWireName,
    WireName,
    is_wire_name,
    require_to_speak,
    require_wire_name,
    shown_to,
    wire_key,
)
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.identity.names import name_key

NATIVE = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,63}", fullmatch=True)
ANY = st.text(max_size=40)


def known(owner: Door | None = None, *linked: Door, name: str = "bob", number: int = 1) -> WireName:
    return WireName(
        id=number,
        project_id=ProjectId(1),
        agent_id=AgentId(1),
        name=name,
        owner=owner,
        linked=frozenset(linked),
        created_ts=Micros(0),
    )


@pytest.mark.parametrize("name", ["alice", "é", "x_y-1", "--", "名前", "claude-code", "a" * MAX_WIRE_NAME])
def test_postal_takes_letters_digits_and_two_signs(name: str) -> None:
    assert require_wire_name(Door.POSTAL, name) == name


@pytest.mark.parametrize(
    "name", ["", " ", "a b", " a", "a\n", "a/b", "a.b", "..", "a%20b", "a@b", "\ud800", "a" * (MAX_WIRE_NAME + 1)]
)
def test_postal_refuses_all_else_in_its_own_words(name: str) -> None:
    with pytest.raises(UnfitWireName, match=r"^Invalid agent name\.$"):
        require_wire_name(Door.POSTAL, name)


@pytest.mark.parametrize("door", Door)
def test_nobody_is_called_as_the_server_itself_is(door: Door) -> None:
    for name in ("System", "system", "SYSTEM"):
        with pytest.raises(UnfitWireName) as refused:
            require_wire_name(door, name)
        assert refused.value.hint == "System is the server's own sender."
    assert require_wire_name(door, "System-1") == "System-1"


@pytest.mark.parametrize("door", [Door.AGENTMAIL, Door.CLAUDE_MAILBOX])
def test_elsewhere_a_name_is_a_line_of_text_without_the_blanks_around_it(door: Door) -> None:
    assert require_wire_name(door, "  my window: 2 ") == "my window: 2"
    for name in ["", "  ", "a\nb", "a\x00", "a\x85b", "a\u2028b", "a\u202eb", "\udc00", "a" * (MAX_WIRE_NAME + 1)]:
        with pytest.raises(UnfitWireName):
            require_wire_name(door, name)


@given(ANY, st.sampled_from(Door))
def test_what_a_door_takes_is_a_name_to_keep_and_taken_again(text: str, door: Door) -> None:
    try:
        kept = require_wire_name(door, text)
    except UnfitWireName as refused:
        str(refused.data["name"]).encode()  # Whatever came in can go out.
        return

    assert is_wire_name(kept)
    assert require_wire_name(door, kept) == kept


@given(ANY)
def test_a_key_is_its_own_key_and_ignores_blanks_around(text: str) -> None:
    key = wire_key(text)

    assert wire_key(key) == key
    assert wire_key(f" {text} ") == key


@given(NATIVE)
def test_native_names_are_compared_as_natively(name: str) -> None:
    assert wire_key(name) == name_key(name) == wire_key(name.upper())


def test_an_accent_is_the_same_however_it_is_written() -> None:
    assert wire_key("Ren\u00e9") == wire_key("rene\u0301") == "ren\u00e9"
    assert wire_key("Straße") == wire_key("STRASSE")


OPEN, STRICT = AgentAuth.OPEN, AgentAuth.STRICT


def other_way() -> OtherWay:
    return OtherWay(project="code-app")


@pytest.mark.parametrize("auth", [OPEN, STRICT])
def test_the_first_door_that_speaks_as_a_mailbox_gets_it(auth: AgentAuth) -> None:
    assert require_to_speak(Door.POSTAL, known(), is_unspoken=True, auth=auth, other_way=other_way) is True


@pytest.mark.parametrize("auth", [OPEN, STRICT])
@pytest.mark.parametrize("is_unspoken", [True, False])
def test_its_owner_and_linked_doors_speak_as_a_name(auth: AgentAuth, is_unspoken: bool) -> None:
    own, linked = known(Door.POSTAL), known(Door.AGENTMAIL, Door.POSTAL)
    native = known(None, Door.POSTAL)

    taken = [
        require_to_speak(Door.POSTAL, one, is_unspoken=is_unspoken, auth=auth, other_way=other_way)
        for one in (own, linked, native)
    ]

    assert taken == [False, False, False]


@pytest.mark.parametrize("auth", [OPEN, STRICT])
def test_another_door_is_refused_with_the_owner_and_the_command(auth: AgentAuth) -> None:
    with pytest.raises(NameOwnedElsewhere, match="a name of postal") as refused:
        require_to_speak(Door.AGENTMAIL, known(Door.POSTAL), is_unspoken=False, auth=auth, other_way=other_way)

    assert refused.value.hint is not None
    assert refused.value.hint.endswith("am facade link bob agentmail --project code-app")
    assert refused.value.data["owner"] == "postal"


def test_a_native_agent_is_any_doors_under_open_and_no_unlinked_doors_under_strict() -> None:
    assert require_to_speak(Door.POSTAL, known(), is_unspoken=False, auth=OPEN, other_way=other_way) is False
    with pytest.raises(DoorNotLinked):
        require_to_speak(Door.POSTAL, known(), is_unspoken=False, auth=STRICT, other_way=other_way)


def test_a_name_is_quoted_where_a_shell_reads_it() -> None:
    with pytest.raises(NameOwnedElsewhere) as refused:
        require_to_speak(
            Door.POSTAL, known(Door.AGENTMAIL, name="it's $HOME"), is_unspoken=False, auth=OPEN, other_way=other_way
        )

    assert refused.value.hint is not None
    assert r"am facade link 'it'\''s $HOME' postal" in refused.value.hint


def test_the_second_one_of_a_name_is_told_its_own_and_what_the_command_would_give_away() -> None:
    with pytest.raises(NameOwnedElsewhere) as refused:
        require_to_speak(
            Door.POSTAL,
            known(Door.AGENTMAIL),
            is_unspoken=False,
            auth=OPEN,
            other_way=lambda: OtherWay(project="code-app", own="bob-postal"),
        )

    assert refused.value.hint == (
        "bob-postal is postal's: call by that. To let postal read and send as bob, with all its mail, "
        "let the operator run: am facade link bob postal --project code-app"
    )


def test_a_door_shows_its_own_name_then_a_linked_one_then_the_oldest() -> None:
    oldest, linked = known(None, name="a", number=1), known(Door.POSTAL, Door.AGENTMAIL, name="b", number=2)
    own = known(Door.AGENTMAIL, name="c", number=3)

    assert shown_to(Door.AGENTMAIL, [oldest, linked, own]) == "c"
    assert shown_to(Door.AGENTMAIL, [oldest, linked]) == "b"
    assert shown_to(Door.CLAUDE_MAILBOX, [linked, oldest, own]) == "a"
    assert shown_to(Door.POSTAL, []) is None
