"""The database is deleted or replaced below a whole server: what people, agents and probes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web.visits import APP, open_visits, shown_text


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_nothing_is_said_to_be_sent_that_would_be_lost(tmp_path: Path, is_replaced: bool) -> None:
    async with open_visits(tmp_path) as visits:
        kept = await visits.send(subject="Before")
        database = visits.app.store.path
        content = database.read_bytes()
        for end in ("", "-wal", "-shm"):
            database.with_name(database.name + end).unlink()
        if is_replaced:
            database.write_bytes(content)

        letter = {"project_key": APP, "sender_name": "BlueLake", "to": ["RedStone"], "subject": "x", "body_md": "x"}
        sent = await visits.app.client.post("/rpc/send_message", json=letter)
        ready = await visits.app.client.get("/health/readiness")
        health = await visits.app.call("health_check")
        page = await visits.get("/mail")

    assert (sent.status_code, sent.json()["error"]["type"]) == (503, "UNAVAILABLE")
    assert "deleted, moved or replaced" in sent.json()["error"]["message"]
    assert (ready.status_code, ready.json()["status"]) == (503, "unavailable")
    assert "deleted, moved or replaced" in ready.json()["reason"]
    assert str(tmp_path) not in ready.text
    assert (health["status"], "deleted, moved or replaced" in str(health)) == ("error", True)
    assert "Before" in shown_text(page), kept
