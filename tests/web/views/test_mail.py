from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.web.acting import BEARER, SHOP, before_the_pages


async def test_mail_that_another_replaced_is_called_superseded_and_only_withdrawn_mail_withdrawn(
    tmp_path: Path,
) -> None:
    async with before_the_pages(tmp_path) as person:
        await person.sign_in()
        slug = await person.slug(SHOP)
        sender: dict[str, Any] = {"project_key": SHOP, "sender_name": "BlueLake"}
        mail: dict[str, Any] = {**sender, "to": ["GreenHill", "Human"], "subject": "Plan", "body_md": "b"}
        old, gone = [(await person.app.call("send_message", **mail))["deliveries"][0]["payload"]["id"] for _ in "ab"]
        await person.write("BlueLake", "GreenHill", supersedes=old)
        await person.app.call("mark_message_read", BEARER, project_key=SHOP, agent_name="Human", message_id=gone)
        await person.app.call("withdraw_message", **sender, message_id=gone)

        listed = (await person.get("/mail")).text
        pages = [(await person.get(f"/mail/{slug}/message/{one}")).text for one in (old, gone)]

    assert (listed.count(">superseded</span>"), listed.count(">withdrawn</span>")) == (1, 1)
    assert ["status-superseded" in page for page in pages] == [True, False]
    assert ["status-withdrawn" in page for page in pages] == [False, True]
