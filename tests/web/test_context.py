from __future__ import annotations

from pathlib import Path

from tests.web.acting import SHOP, before_the_pages


async def test_a_letter_begins_in_the_newest_project_while_there_is_no_mail(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as person:
        anonymous = (await person.get("/mail")).text
        await person.sign_in()
        await person.app.call("ensure_project", human_key="/code/last")
        without = (await person.get("/mail")).text
        await person.write("BlueLake", "GreenHill")
        with_mail = (await person.get("/mail")).text
        shop, last = await person.slug(SHOP), await person.slug("/code/last")

    assert "data-compose" not in anonymous
    assert f'href="/mail/{last}/overseer/compose" data-compose' in without
    assert f'href="/mail/{shop}/overseer/compose" data-compose' in with_mail
