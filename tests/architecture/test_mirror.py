"""A module's tests are found by its path. Tests that have no such path are listed in mirror.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.architecture.mirror import modules_without_tests, stories
from tests.architecture.trees import PACKAGE, ROOT

LISTED = tomllib.loads((Path(__file__).parent / "mirror.toml").read_text(encoding="utf-8"))


def test_a_test_has_the_name_of_a_module_or_is_a_story_that_is_listed() -> None:
    assert stories(ROOT / "tests", ROOT / PACKAGE) == set(LISTED["stories"])


def test_every_story_says_what_it_tells() -> None:
    assert [name for name, tells in LISTED["stories"].items() if not tells.strip()] == []


def test_a_module_with_logic_has_a_test_of_its_name() -> None:
    assert modules_without_tests(ROOT / "tests", ROOT / PACKAGE) == set()


def test_the_list_is_in_order() -> None:
    names = list(LISTED["stories"])

    assert names == sorted(names)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """`domain/plain.py` has five statements in a function, `domain/rich.py` six."""
    folder = tmp_path / "package" / "domain"
    folder.mkdir(parents=True)
    (tmp_path / "tests" / "domain").mkdir(parents=True)
    for name, statements in {"plain": 5, "rich": 6}.items():
        lines = ["def act():", '    """Does it."""', *["    pass"] * statements]
        (folder / f"{name}.py").write_text("\n".join(lines))
    return folder.parent


def test_a_module_with_logic_and_no_test_is_found(package: Path, tmp_path: Path) -> None:
    before = modules_without_tests(tmp_path / "tests", package)

    (tmp_path / "tests" / "domain" / "test_rich.py").touch()

    assert (before, modules_without_tests(tmp_path / "tests", package)) == ({"domain/rich.py"}, set())


def test_a_test_without_a_module_is_found(package: Path, tmp_path: Path) -> None:
    for name in ("test_rich.py", "test_poor.py"):
        (tmp_path / "tests" / "domain" / name).touch()

    assert stories(tmp_path / "tests", package) == {"domain/test_poor.py"}
