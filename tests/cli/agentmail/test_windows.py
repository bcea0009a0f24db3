"""SessionWindows that are renamed keep their mail; a name is its window's, whoever had it before."""

from __future__ import annotations

from tests.cli.agentmail.test_commands import NONE, given, sent
from tests.cli.agentmail.tmux_session import TmuxSession, needs_tmux

pytestmark = needs_tmux


def test_who_acts_is_the_window_of_the_pane_and_others_are_those_of_its_session(session: TmuxSession) -> None:
    """Neither the window that is looked at (a1), nor what another session of the same tmux has."""
    session.panes["b1"] = session.tmux(
        *("new-session", "-d", "-s", "other", "-P", "-F", "#{pane_id}", "-n", "b1", "cat")
    ).strip()

    number = sent(session.says("a2", "send", "a3", "hi"))

    assert session.says("a3", "receive") == given("a2", number, "hi")
    assert session.says("a2", "recipients") == ("a1\na2 [you]\na3\n", "", 0)
    assert session.says("b1", "recipients") == ("b1 [you]\n", "", 0)
    assert session.says("a2", "send", "b1", "x")[1:] == ("error: recipient not found\n", 1)


def test_a_renamed_window_has_its_mail_under_the_new_name(session: TmuxSession) -> None:
    early = sent(session.says("a1", "send", "a2", "before"))
    session.tmux("rename-window", "-t", session.panes["a2"], "b2")

    refused = session.says("a1", "send", "nobody", "x")
    late = sent(session.says("a1", "send", "b2", "after"))

    assert refused[2] == 1
    assert session.says("a2", "receive") == given("a1", early, "before")
    assert session.says("a2", "receive") == given("a1", late, "after")
    assert session.says("a2", "receive") == NONE


def test_who_writes_after_a_rename_writes_as_the_window_is_called_now(session: TmuxSession) -> None:
    session.says("a1", "status", "ready")
    session.tmux("rename-window", "-t", session.panes["a1"], "b1")

    number = sent(session.says("a1", "send", "a2", "hi"))
    answer = sent(session.says("a2", "send", "b1", "yes"))

    assert session.says("a2", "receive") == given("b1", number, "hi")
    assert session.says("a1", "receive") == given("a2", answer, "yes")


def test_a_new_window_under_a_name_that_another_had_has_mail_of_its_own(session: TmuxSession) -> None:
    first = sent(session.says("a1", "send", "a2", "first"))
    session.tmux("rename-window", "-t", session.panes["a2"], "b2")
    renamed = session.panes["a2"]
    taken = session.says("a2", "receive")
    session.open("a2")

    second = sent(session.says("a1", "send", "a2", "second"))
    third = sent(session.says("a1", "send", "b2", "third"))

    assert taken == given("a1", first, "first")
    assert session.says("a2", "receive") == given("a1", second, "second")
    assert session.says(renamed, "receive") == given("a1", third, "third")


def test_two_windows_of_one_name_share_a_mailbox_and_are_listed_once(session: TmuxSession) -> None:
    other = session.panes["a2"]
    session.open("a2")
    first, second = (sent(session.says("a1", "send", "a2", body)) for body in ("one", "two"))

    assert session.says("a2", "receive") == given("a1", first, "one")
    assert session.says(other, "receive") == given("a1", second, "two")
    assert session.says("a1", "recipients")[0] == "a1 [you]\na2\na3\n"


def test_a_window_that_takes_the_name_of_one_that_is_there_leaves_its_mailbox(session: TmuxSession) -> None:
    """As the name is written to, so it is read: two mailboxes never become one."""
    left = sent(session.says("a1", "send", "a3", "left"))
    session.says("a2", "status", "ready")
    session.tmux("rename-window", "-t", session.panes["a3"], "a2")

    number = sent(session.says("a1", "send", "a2", "shared"))
    shared = session.says("a3", "receive")
    session.tmux("rename-window", "-t", session.panes["a3"], "a3")

    assert shared == given("a1", number, "shared")
    assert session.says("a3", "receive") == given("a1", left, "left")


def test_names_of_any_kind_are_windows(session: TmuxSession) -> None:
    for name in ("ä b", "x:1.2", "q;", "#h", "-dash", "it's"):
        session.panes[name] = session.panes.pop(next(one for one in session.panes if one not in ("a1", "a2")))
        written = f"{name[:-1]}\\;" if name.endswith(";") else name.replace("#", "##")
        session.tmux("rename-window", "-t", session.panes[name], "--", written)

        number = sent(session.says("a1", "send", "--", name, name))

        assert session.says(name, "receive") == given("a1", number, name)
