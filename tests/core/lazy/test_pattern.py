from __future__ import annotations

import copy
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mcp_agent_mail
from mcp_agent_mail.core.lazy.pattern import LazyPattern, lazy_pattern

PACKAGE = Path(mcp_agent_mail.__file__).parent


def _lazy_patterns() -> dict[str, LazyPattern]:
    """Every one that a module of the package has."""
    found: dict[str, LazyPattern] = {}
    for file in PACKAGE.rglob("*.py"):
        if "lazy_pattern(" in file.read_text(encoding="utf-8"):
            name = ".".join(["mcp_agent_mail", *file.relative_to(PACKAGE).with_suffix("").parts])
            held = vars(import_module(name)).items()
            found |= {f"{name}.{variable}": value for variable, value in held if isinstance(value, LazyPattern)}
    return found


def test_it_answers_as_a_compiled_one_does() -> None:
    lazy = lazy_pattern(r"(?P<first>[a-z])(b)?", re.IGNORECASE)

    found = lazy.fullmatch("AB")

    assert found is not None
    assert found.groupdict() == {"first": "A"}
    assert lazy.sub("-", "abc") == "--"
    assert (lazy.groups, lazy.pattern, lazy.flags & re.IGNORECASE) == (2, r"(?P<first>[a-z])(b)?", re.IGNORECASE)


def test_one_of_bytes_answers_of_bytes() -> None:
    assert lazy_pattern(rb"a+").sub(b"-", b"aab") == b"-b"


def test_what_was_used_once_is_the_compiled_ones_own_method() -> None:
    lazy = lazy_pattern("a+")

    lazy.match("a")

    assert lazy.match is lazy.match
    assert lazy.match == re.compile("a+").match


def test_it_has_nothing_that_a_compiled_one_lacks() -> None:
    with pytest.raises(AttributeError):
        _ = lazy_pattern("a").nothing  # type: ignore[attr-defined]  # that is what is asked


def test_asking_it_for_what_python_looks_up_by_itself_compiles_nothing() -> None:
    lazy = lazy_pattern("(")

    assert not hasattr(lazy, "__wrapped__")
    assert not hasattr(lazy, "__deepcopy__")


def test_a_copy_answers_too() -> None:
    assert copy.copy(lazy_pattern("a")).sub("-", "ab") == "-b"


def test_every_expression_of_the_package_can_be_compiled() -> None:
    patterns = _lazy_patterns()

    wrong = {name for name, pattern in patterns.items() if not isinstance(pattern.groups, int)}

    assert len(patterns) > 100
    assert not wrong


def test_importing_a_module_compiles_none() -> None:
    script = """
import mcp_agent_mail.bootstrap, sys
from mcp_agent_mail.core.lazy.pattern import LazyPattern
print([
    f"{name}.{variable}"
    for name, module in sorted(sys.modules.items()) if name.startswith("mcp_agent_mail.")
    for variable, value in vars(module).items() if isinstance(value, LazyPattern) and "_compiled" in vars(value)
])
"""

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == "[]"
