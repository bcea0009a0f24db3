"""A bundle that a stranger made, in the browser of who previews it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from mcp_agent_mail.cli.sharing.preview_server import BundleServer
from mcp_agent_mail.features.sharing.folder import export_bundle
from mcp_agent_mail.features.sharing.manifest import BundleFile
from mcp_agent_mail.features.sharing.results import SharedPreset
from tests.browser.chromium import open_chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

_SCRIPT = b"""
const told = await (await fetch("search/words.json")).json();
try { document.cookie = "agent_mail_session=stolen; path=/mail"; told.push("set"); } catch { told.push("kept out"); }
document.title = told.join(" ");
"""


@pytest.fixture
def preview(tmp_path: Path) -> Iterator[BundleServer]:
    files = [
        BundleFile(path="index.html", content=b'<title>shown</title><script type="module" src="a.js"></script>'),
        BundleFile(path="a.js", content=_SCRIPT),
        BundleFile(path="search/words.json", content=b'["read"]'),
    ]
    export_bundle(tmp_path / "out", files, preset=SharedPreset.STANDARD, storage_root=tmp_path / "store", sign=None)
    with BundleServer(tmp_path / "out", 0) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_a_script_of_a_strangers_bundle_reads_its_own_files_and_sets_no_cookie(preview: BundleServer) -> None:
    async with open_chromium() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(preview.url)
        async with asyncio.timeout(60):
            await page.wait_for_function("() => document.title !== 'shown'")

        assert await page.title() == "read kept out"
        assert await context.cookies() == []
