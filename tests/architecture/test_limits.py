from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.limits import Allowed, judge, measure, read_exceptions

ROOT = Path(__file__).parents[2]
EXCEPTIONS = Path(__file__).parent / "exceptions.toml"
ADR = ROOT / "docs" / "adr"


def _written(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return root


def _faults(root: Path, *allowed: Allowed) -> list[str]:
    return judge(measure(root), allowed, ADR)


def _lines(count: int) -> str:
    return "".join(f"    x{number} = {number}\n" for number in range(count))


def _ifs(count: int) -> str:
    return "".join(f"    if x == {number}: y = 1\n" for number in range(count))


def test_the_repository_keeps_its_limits() -> None:
    assert judge(measure(ROOT), read_exceptions(EXCEPTIONS), ADR) == []


_BROKEN = [
    ("src/p/long.py", "x = 1\n" * 401, "src/p/long.py: module-lines: 401 lines, at most 400"),
    ("tests/test_p.py", f"def f():\n{_lines(60)}", "tests/test_p.py::f: function-lines: 61 lines, at most 60"),
    (
        "src/p/a.py",
        f"class C:\n    def m(self):\n{_lines(60).replace('    ', '        ')}",
        "src/p/a.py::C.m: function-lines: 61 lines, at most 60",
    ),
    ("src/p/a.py", f"async def f(x):\n{_ifs(10)}", "src/p/a.py::f: complexity: complexity 11, at most 10"),
    (
        "src/p/a.py",
        f"def f(x):\n    return [1 {'for a in x ' * 10}]\n",
        "src/p/a.py::f: complexity: complexity 11, at most 10",
    ),
    (
        "src/p/a.py",
        f"def f(x):\n{_ifs(9)}    class C:\n        if x: y = 1\n        def m(self): ...\n",
        "src/p/a.py::f: complexity: complexity 11, at most 10",
    ),
    (
        "src/p/a.py",
        f"def f(x):\n    def inner():\n{_ifs(10).replace('    ', '        ')}",
        "src/p/a.py::f.inner: complexity: complexity 11, at most 10",
    ),
    (
        "benchmarks/a.py",
        "def f(a, b, /, c, *d, e, f, g, h, **i): ...\n",
        "benchmarks/a.py::f: arguments: 9 arguments, at most 8",
    ),
    (
        "src/p/tools.py",
        "def build():\n    async def t(a, b, c, d, e, f, g, h, i): ...\n",
        "src/p/tools.py::build.t: arguments: 9 arguments, at most 8",
    ),
    ("src/p/utils.py", "", "src/p/utils.py: name: `utils` says nothing: utils"),
    ("src/p/mail_helpers.py", "", "src/p/mail_helpers.py: name: `mail_helpers` says nothing: helpers"),
    ("src/common/a.py", "", "src/common/a.py: name: `common` says nothing: common"),
    ("src/p/new_writer.py", "", "src/p/new_writer.py: name: `new_writer` will not be new for long"),
    ("src/p/writer_v2.py", "", "src/p/writer_v2.py: name: `writer_v2` numbers a version"),
    (
        "src/p/a.py",
        "class QueueManager: ...\n",
        "src/p/a.py::QueueManager: name: `queue_manager` says nothing: manager",
    ),
]


@pytest.mark.parametrize(("name", "text", "fault"), _BROKEN)
def test_a_tree_that_exceeds_a_limit_is_refused(name: str, text: str, fault: str, tmp_path: Path) -> None:
    assert _faults(_written(tmp_path, name, text)) == [fault]


_KEPT = [
    ("src/p/a.py", "x = 1\n" * 400),
    ("src/p/a.py", f'def f():\n    """One.\n\n    Two.\n    """\n{_lines(59)}'),
    ("src/p/a.py", f"def f():\n    def inner():\n{_lines(50).replace('    ', '        ')}{_lines(50)}"),
    ("src/p/a.py", f"def f(x):\n{_ifs(9)}"),
    ("src/p/a.py", f"def f(x):\n{_ifs(5)}    def inner():\n{_ifs(5).replace('    ', '        ')}"),
    ("src/p/a.py", "class C:\n    def m(self, a, b, c, d, e, f, g, h): ...\n"),
    ("src/p/features/mail/tools.py", "def build():\n    async def t(a, b, c, d, e, f, g, h, i): ...\n"),
    ("src/p/cli/commands/mail.py", "@app.command('send')\ndef send(a, b, c, d, e, f, g, h, i): ...\n"),
    ("src/p/newest.py", "class Database: ...\nclass NewAgent: ...\n"),
]


@pytest.mark.parametrize(("name", "text"), _KEPT)
def test_a_tree_within_the_limits_is_accepted(name: str, text: str, tmp_path: Path) -> None:
    assert _faults(_written(tmp_path, name, text)) == []


def test_a_folder_of_more_than_25_modules_is_refused(tmp_path: Path) -> None:
    for number in range(26):
        _written(tmp_path, f"src/p/crowded/m{number}.py", "")
    for number in range(25):
        _written(tmp_path, f"src/p/full/m{number}.py", "")
    _written(tmp_path, "src/p/full/__init__.py", "")

    assert _faults(tmp_path) == ["src/p/crowded: folder-modules: 26 modules, at most 25"]


def test_an_exception_with_its_adr_is_accepted(tmp_path: Path) -> None:
    root = _written(tmp_path, "src/p/long.py", "x = 1\n" * 401)

    assert _faults(root, Allowed(rule="module-lines", where="src/p/long.py", adr=1)) == []


def test_an_exception_without_its_adr_is_refused(tmp_path: Path) -> None:
    root = _written(tmp_path, "src/p/long.py", "x = 1\n" * 401)

    faults = _faults(root, Allowed(rule="module-lines", where="src/p/long.py", adr=9999))

    assert faults == ["src/p/long.py: there is no ADR 9999"]


def test_an_exception_that_is_no_longer_needed_is_refused(tmp_path: Path) -> None:
    root = _written(tmp_path, "src/p/short.py", "x = 1\n")

    faults = _faults(root, Allowed(rule="module-lines", where="src/p/short.py", adr=1))

    assert faults == ["src/p/short.py: the exception for module-lines is no longer needed"]
