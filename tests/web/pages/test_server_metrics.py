"""Operations over HTTP: the operator's alone, and no secret in it."""

from __future__ import annotations

from pathlib import Path

from tests.server.whole_app import open_whole_app
from tests.web.pages.peopled import AS_OPERATOR


async def test_operations_are_the_operators_and_show_no_secret(tmp_path: Path) -> None:
    async with open_whole_app(tmp_path, HTTP_BEARER_TOKEN="planted-secret-of-this-test") as app:
        by_server = {"authorization": "Bearer planted-secret-of-this-test"}
        refused = await app.client.get("/mail/operations", headers=by_server)
        await app.services.pages.figures.note()
        shown = await app.client.get("/mail/operations", headers=AS_OPERATOR)

    assert refused.status_code == 403
    assert (shown.status_code, "HTTP_BEARER_TOKEN" in shown.text) == (200, True)
    assert "planted-secret" not in shown.text
    assert shown.text.count('class="chart ') == 4
