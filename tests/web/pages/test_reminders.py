from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.core.clock import SECOND
from tests.web.acting import SHOP, Person, before_the_pages, form_to

NEEDS, ACTION = "/mail?box=needs", "/mail/reminders"


async def long_ago(person: Person) -> None:
    """All mail that is there was delivered a week ago."""
    await person.app.store.write(
        lambda tx: (
            tx.agents._connection.execute(
                "UPDATE recipients SET delivered_ts = delivered_ts - ?", (604_800 * SECOND,)
            ).rowcount
        )
    )


async def test_late_agents_are_reminded_once_and_the_page_says_so(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as person:
        await person.write("BlueLake", "GreenHill", subject="Parser?", ack_required=True)
        await long_ago(person)
        await person.sign_in()
        shown = await person.get(NEEDS)
        form = form_to(shown, ACTION)

        first = await person.send(form.action, form.fields)
        again = await person.send(form.action, form.fields)

        assert "1 of 1 has not acknowledged: GreenHill" in shown.text
        assert (first.status_code, first.headers["location"]) == (303, f"{NEEDS}&reminded=1")
        assert "1 reminder was sent." in (await person.get(first.headers["location"])).text
        assert "Nobody was reminded" in (await person.get(again.headers["location"])).text
        assert len([one for one in await person.inbox("GreenHill") if one["from"] == "System"]) == 1


async def test_a_reminder_needs_the_forms_token_and_a_session(tmp_path: Path) -> None:
    async with before_the_pages(tmp_path) as person:
        await person.write("BlueLake", "GreenHill", ack_required=True)
        await long_ago(person)
        fields = [("project", await person.slug(SHOP)), ("csrf", "0" * 64)]

        anybody = await person.send(ACTION, fields)
        await person.sign_in()
        forged = await person.send(ACTION, fields)

        assert (anybody.status_code, forged.status_code) == (401, 403)
        assert [one for one in await person.inbox("GreenHill") if one["from"] == "System"] == []


async def test_a_project_that_is_not_there_is_told_of(person: Person) -> None:
    await person.write("BlueLake", "Human", ack_required=True)
    form = form_to(await person.get(NEEDS), "/mail/marks")
    token = [pair for pair in form.fields if pair[0] == "csrf"]

    answer = await person.send(ACTION, [*token, ("project", "none")])

    assert answer.status_code == 403
