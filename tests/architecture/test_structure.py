"""One name stands for one thing, is imported by one path, and says what it does; each rule notices a tree without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.structure import (
    borrowed_imports,
    only_passing_on,
    repeated_class_names,
    untold,
    unused_private_names,
)
from tests.architecture.trees import PACKAGE, ROOT

SOURCE = ROOT / PACKAGE


def _tree(folder: Path, **modules: str) -> Path:
    """A package at `folder/house` with these modules: `store__mail` is `store/mail.py`."""
    for name, text in modules.items():
        path = folder / "house" / f"{name.replace('__', '/', 1)}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "house"


def test_a_public_class_name_stands_for_one_thing() -> None:
    assert repeated_class_names(SOURCE) == {}


def test_a_class_name_used_twice_is_found(tmp_path: Path) -> None:
    house = _tree(
        tmp_path, store__mail="class Inbox: ...\nclass _Row: ...\n", mail="class Inbox: ...\nclass _Row: ...\n"
    )

    assert repeated_class_names(house) == {"Inbox": ["mail.py", "store/mail.py"]}


def test_a_name_is_imported_from_where_it_is_made() -> None:
    assert borrowed_imports(SOURCE, ROOT / "tests", ROOT / "benchmarks") == []


def test_an_import_from_where_a_name_was_only_imported_is_found(tmp_path: Path) -> None:
    house = _tree(
        tmp_path,
        clock="class Clock: ...\nSECOND = 1\n",
        store__mail="from house.clock import Clock\nLIMIT = 3\n",
        good="from house.clock import SECOND\nfrom house.store import mail\nfrom house.store.mail import LIMIT\n",
        bad="def f():\n    from house.store.mail import Clock\n",
    )
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_mail.py").write_text("from house.store.mail import Clock\n")

    assert borrowed_imports(house, tests) == [
        "bad.py: from house.store.mail import Clock",
        "test_mail.py: from house.store.mail import Clock",
    ]


@pytest.mark.parametrize(
    "block",
    [
        "class C:\n    def f(self):\n        {}\n",
        "try:\n    {}\nexcept E:\n    pass\n",
        "try:\n    pass\nexcept E:\n    {}\n",
        "try:\n    pass\nfinally:\n    {}\n",
        "if a:\n    pass\nelif b:\n    {}\n",
        "for a in b:\n    pass\nelse:\n    with a:\n        {}\n",
        "match a:\n    case 1:\n        {}\n",
    ],
)
def test_an_import_is_found_in_every_block(block: str, tmp_path: Path) -> None:
    borrowed = "from house.mail import Clock"
    house = _tree(
        tmp_path,
        clock="class Clock: ...\n",
        mail="from house.clock import Clock\n",
        bad=block.format(borrowed),
    )

    assert borrowed_imports(house) == [f"bad.py: {borrowed}"]


def test_what_a_module_offers_for_others_may_be_imported_by_it(tmp_path: Path) -> None:
    house = _tree(
        tmp_path,
        clock="class Clock: ...\nSECOND = 1\n",
        extending='from house.clock import SECOND, Clock\n\n__all__ = ["Clock"]\n',
        theirs="from house.extending import SECOND, Clock\n",
    )

    assert borrowed_imports(house) == ["theirs.py: from house.extending import SECOND"]


def test_every_private_name_is_read_where_it_stands() -> None:
    assert unused_private_names(SOURCE) == []


def test_a_private_name_that_nothing_reads_is_found(tmp_path: Path) -> None:
    house = _tree(
        tmp_path,
        mail="_LIMIT = 3\n_MODEL: int = 4\n\n\ndef _unread():\n    return _LIMIT\n\n\ndef f():\n    return 1\n",
    )

    assert unused_private_names(house) == ["mail.py: _MODEL", "mail.py: _unread"]


def test_no_module_only_passes_names_on() -> None:
    assert only_passing_on(SOURCE) == [
        "extending.py"
    ]  # What other packages import has one path, whatever moves inside.


@pytest.mark.parametrize(
    "text", ['"""Mail."""\n\nfrom house.clock import Clock\n', 'from house.clock import Clock\n\n__all__ = ["Clock"]\n']
)
def test_a_module_that_only_passes_names_on_is_found(text: str, tmp_path: Path) -> None:
    house = _tree(
        tmp_path,
        empty='"""Nothing yet."""\n\nfrom __future__ import annotations\n',
        clock="class Clock: ...\n",
        store____init__=text,
    )

    assert only_passing_on(house) == ["store/__init__.py"]


def test_every_public_function_that_is_not_trivial_has_a_docstring_that_tells_something() -> None:
    assert untold(SOURCE) == []


_LONG = "        a = 1\n        b = 2\n        c = 3\n        return a + b + c\n"


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("", ["mail.py::Inbox.list_unread"]),
        ('        """List the unread."""\n', ["mail.py::Inbox.list_unread"]),
        ('        """Newest first, at most 20."""\n', []),
    ],
)
def test_a_docstring_that_is_missing_or_an_echo_is_found(told: str, found: list[str], tmp_path: Path) -> None:
    short = "    def one(self):\n        return 1\n"
    private = f"    def _own(self):\n{_LONG}"
    house = _tree(tmp_path, mail=f"class Inbox:\n    def list_unread(self):\n{told}{_LONG}{short}{private}")

    assert untold(house) == found
