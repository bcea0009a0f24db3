"""What people see is golden: whoever changes it looks at it.

Written anew by `python -m tests.cli.screens`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.screens import GOLDEN, SCREENS, VIEWS, WIDTHS, ScreenStore, golden_of


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScreenStore]:
    made = ScreenStore(tmp_path_factory.mktemp("screens"))
    with made.server:
        yield made


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_as_recorded(store: ScreenStore, name: str) -> None:
    for view in VIEWS:
        assert store.screen(name, view) == golden_of(name, view).read_text(), view


def test_every_recorded_screen_is_compared() -> None:
    assert {file.name for file in GOLDEN.iterdir()} == {
        golden_of(name, view).name for name in SCREENS for view in VIEWS
    }


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_of_a_table_is_wider_than_its_terminal(width: int) -> None:
    tables = [name for name in SCREENS if golden_of(name, width).read_text().splitlines()[0].isupper()]

    lines = [line for name in tables for line in golden_of(name, width).read_text().splitlines()]

    assert len(tables) >= 7
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("name", ["mail-inbox", "reservations-list", "status"])
def test_no_color_shows_the_same_words_without_a_single_escape(store: ScreenStore, name: str) -> None:
    plain = store.see(SCREENS[name], width=80, is_piped=False, NO_COLOR="1")

    assert "\x1b" not in plain
    assert store.masked(plain) == golden_of(name, 80).read_text()


def test_unread_urgent_and_overdue_mail_is_coloured_on_a_terminal_alone(store: ScreenStore) -> None:
    terminal = store.see(SCREENS["mail-inbox"], width=80, is_piped=False)
    piped = store.see(SCREENS["mail-inbox"], width=80, is_piped=True)

    assert "\x1b[1;31munread, urgent," in terminal
    assert "\x1b" not in piped


def test_an_unmasked_word_of_a_peer_never_drives_the_terminal() -> None:
    assert not [file.name for file in Path(GOLDEN).iterdir() if {"\x1b", "\u202e"} & set(file.read_text())]
