"""What entry points may hand in, and what is told of those that hand in something else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcp_agent_mail.bootstrap.custom_tools import CustomToolsRefused, load_custom_tools
from mcp_agent_mail.core.profiles import TOOLS, UNLISTED
from tests.entry_points import install
from tests.pages.blocks import ROOT
from tests.served import Served
from tests.server.reference_pages import declared

HEAD = """
    from typing import Annotated
    from mcp_agent_mail.core.tools import tool as ours
    from mcp_agent_mail.extending import Flag, Text, tool

    async def wave(*, at: Annotated[str, Text()] = "all"):
        "Wave."
        return {}

    async def nod():
        "Nod."
        return {}

    def named(name, text="Does it."):
        async def handler():
            return {}
        handler.__name__, handler.__doc__ = name, text
        return handler
"""

TOOL_F = "\n    def tools(host): return [tool(f, title='T')]"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python looks into; its modules are forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = {*sys.modules}
    yield folder
    for name in {*sys.modules} - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_those_that_are_named_are_loaded_in_their_order_and_no_others(site: Path) -> None:
    last = "raise RuntimeError('loaded')"
    install(site, "waving", f"{HEAD}\n    def tools(host): return [tool(wave, title='Wave')]\n", wave="tools")
    install(site, "nodding", f"{HEAD}\n    def tools(host): yield tool(nod, title='Nod')\n", nod="tools")
    install(site, "unnamed", last, unnamed="tools")

    found = load_custom_tools(["nod", "wave"])

    assert found.names() == ["nod", "wave"]
    assert [spec.cluster for spec in found.specs] == ["custom", "custom"]
    assert load_custom_tools([]).names() == []
    assert "unnamed" not in sys.modules


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("raise ValueError('no license')", "one:tools cannot be imported: ValueError: no license."),
        ("import sys; sys.exit(3)", "one:tools cannot be imported: SystemExit: 3."),
        ("import nothing_of_the_kind", "one:tools cannot be imported: ModuleNotFoundError: No module named"),
        ("other = 1", "one:tools cannot be imported: AttributeError"),
        ("tools = 3", "one:tools is no function that takes a Host and gives ToolSpecs."),
        ("def tools(host): return 1 / 0", "its function failed: ZeroDivisionError: division by zero."),
        ("def tools(): return []", "its function failed: TypeError"),
        ("def tools(host): return None", "its function failed: TypeError: 'NoneType' object is not iterable."),
        ("def tools(host): raise SystemExit", "its function failed: SystemExit"),
        ("def tools(host): return []", "its function gives no tools."),
        ("def tools(host): return ['wave']", "it gives a str, which is no ToolSpec."),
        ("def tools(host): return [tool(named('send_message'), title='T')]", "has the name of one of the server's."),
        ("def tools(host): return [tool(named('hook_event'), title='T')]", "has the name of one of the server's."),
        ("def tools(host): return [tool(named('Wave'), title='T')]", "the tool Wave must be named by small letters"),
        ("def tools(host): return [tool(wave, title='T')] * 2", "the tool wave is there twice."),
        ("def tools(host): return [tool(wave, title=' ')]", "the tool wave needs a title of at most 100 characters."),
        ("def tools(host): return [tool(named('a', ''), title='T')]", "the tool a needs a docstring of at most 4000"),
        ("def tools(host): return [tool(named('a', 'x' * 4001), title='T')]", "needs a docstring of at most 4000"),
        (
            "def tools(host): return [ours(wave, title='T', cluster='search')]",
            "was not made by mcp_agent_mail.extending",
        ),
        ("def tools(host): return [ours(wave, title='T', cluster='custom', is_long=True)]", "was not made by"),
        ("def tools(host): return [tool(lambda: 1, title='T')]", "is no async function."),
        (
            "async def bare(at): 'A.'\n    def tools(host): return [tool(bare, title='T')]",
            "AssertionError: bare: parameter at declares no rule.",
        ),
        (
            f"async def f(*, format: Annotated[bool, Flag()] = True): 'F.'{TOOL_F}",
            "the tool f has the parameter format, which every tool has.",
        ),
        (
            f"async def f(*, at: Annotated[str, Text()] = object()): 'F.'{TOOL_F}",
            "the tool f has a schema that is no JSON",
        ),
        (
            f"async def f(*, at: Annotated[str, Text()] = 'x' * 17000): 'F.'{TOOL_F}",
            "the tool f has a schema of more than 16 KiB.",
        ),
        (
            "def tools(host):\n        for number in range(10 ** 9): yield tool(named(f'a{number}'), title='T')",
            "There are more than 64 tools.",
        ),
    ],
)
def test_whatever_is_wrong_with_one_is_told(site: Path, body: str, fault: str) -> None:
    install(site, "one", f"{HEAD}\n    {body}\n", one="tools")

    with pytest.raises(CustomToolsRefused) as refused:
        load_custom_tools(["one"])

    assert fault in f"{refused.value.message}."
    assert "take its name out of CUSTOM_TOOLS" in refused.value.hint


def test_a_name_that_nothing_has_or_two_packages_have_is_told_with_those_there_are(site: Path) -> None:
    for package in ("waving", "nodding"):
        install(site, package, f"{HEAD}\n    def tools(host): return [tool(wave, title='Wave')]\n", both="tools")

    with pytest.raises(CustomToolsRefused) as refused:
        load_custom_tools(["bot", "both"])

    assert refused.value.data["mistakes"] == [
        "bot: no installed package has this entry point in the group mcp_agent_mail.tools; there are: both",
        "both: nodding and waving have it, and nothing says which is meant",
    ]


def test_the_names_that_are_taken_are_those_of_the_tools_there_are() -> None:
    assert {*TOOLS, *UNLISTED} == {spec.name for spec in declared()[0]}
    assert not {*TOOLS} & {*UNLISTED}


def test_a_server_does_not_start_with_mistakes_tells_them_all_and_leaves_no_database(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    body = "def tools(host): return [tool(named('fetch_inbox'), title='T'), tool(named('B'), title='T')]"
    install(site, "one", f"{HEAD}\n    {body}\n", one="tools")
    install(site, "two", "raise ValueError('no license')", two="tools")
    path = os.pathsep.join((str(site), str(ROOT / "src")))
    server = Served(tmp_path / "store", port=None, PYTHONPATH=path, CUSTOM_TOOLS="one,two,three")
    server.spawn()
    assert server.process is not None
    code, told = server.process.wait(60), server.log.read_text()

    assert code == os.EX_CONFIG
    assert "one: the tool fetch_inbox has the name of one of the server's." in told
    assert "one: the tool B must be named by small letters" in told
    assert "two: two:tools cannot be imported: ValueError: no license." in told
    assert "three: no installed package has this entry point" in told
    assert "Traceback" not in told
    assert not server.database.exists()
