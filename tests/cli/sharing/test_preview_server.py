from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from mcp_agent_mail.cli.sharing.preview_server import BundleServer
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.features.sharing.folder import export_bundle
from mcp_agent_mail.features.sharing.manifest import BundleFile
from mcp_agent_mail.features.sharing.results import SharedPreset


@pytest.fixture
def preview(tmp_path: Path) -> Iterator[BundleServer]:
    """Of a bundle of two files, beside which lies a third."""
    files = [
        BundleFile(path="index.html", content=b"<p>mail"),
        BundleFile(path="attachments/a.txt", content=b"<script>"),
    ]
    export_bundle(tmp_path / "out", files, preset=SharedPreset.STANDARD, storage_root=tmp_path / "store", sign=None)
    (tmp_path / "out" / "mine.html").write_text("mine")
    (tmp_path / "secret").write_text("secret")
    with BundleServer(tmp_path / "out", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_the_files_of_the_manifest_are_shown_and_no_others(preview: BundleServer) -> None:
    with httpx.Client(base_url=preview.url) as client:
        front, text = client.get(""), client.get("attachments/a.txt")
        others = [client.get(path) for path in ("mine.html", "..%2fsecret", "%2e%2e/secret", "manifest.json", "no")]

    assert (front.text, front.headers["content-type"]) == ("<p>mail", "text/html; charset=utf-8")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.headers["x-content-type-options"] == "nosniff"
    assert {one.status_code for one in others} == {404}


def test_a_page_of_a_bundle_has_an_origin_of_its_own(preview: BundleServer) -> None:
    headers = httpx.get(preview.url).headers
    policy = [part.split() for part in headers["content-security-policy"].split(";")]

    assert ["sandbox", "allow-scripts", "allow-forms"] in policy
    assert headers["access-control-allow-origin"] == "null"


def test_who_does_not_know_where_the_pages_begin_gets_nothing(preview: BundleServer) -> None:
    whole = httpx.URL(preview.url)
    guessed = [whole.copy_with(path=path) for path in ("/", "/index.html", f"/x{whole.path}", f"{whole.path[:-2]}-/")]

    assert len(whole.path) > 20
    assert [httpx.get(url).status_code for url in guessed] == [403] * 4


def test_who_asks_for_another_address_gets_nothing(preview: BundleServer) -> None:
    answer = httpx.get(preview.url, headers={"host": "evil.example"})

    assert answer.status_code == 403
    assert "mail" not in answer.text


def test_a_file_that_was_changed_since_is_not_shown(preview: BundleServer) -> None:
    (preview.folder / "index.html").write_bytes(b"<p>evil")

    assert httpx.get(preview.url).status_code == 404


def test_a_port_that_is_taken_is_said(preview: BundleServer) -> None:
    with pytest.raises(Unavailable):
        BundleServer(preview.folder, int(preview.server_address[1]))


def test_a_browser_that_goes_away_leaves_no_word(preview: BundleServer, capsys: pytest.CaptureFixture[str]) -> None:
    for gone, said in ((ConnectionResetError(), ""), (ValueError("ours"), "ValueError: ours")):
        try:
            raise gone
        except (ConnectionError, ValueError):
            preview.handle_error(None, preview.server_address)

        err = capsys.readouterr().err
        assert (said in err) if said else (err == "")
