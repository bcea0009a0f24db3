from __future__ import annotations

import html
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.web.pages import reservations
from tests.server.whole_app import OPERATOR
from tests.web.swarm import HOSTILE, SHOP, Swarm, open_swarm
from tests.web.visitors import ORIGIN, csrf_in, sign_in

AT_ONCE = StalenessRules(inactivity_s=0, grace_s=0)
"""Whoever does nothing just now counts as gone."""


async def test_live_ones_are_a_table_and_a_tree_of_their_paths(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.hold("BlueLake", "src/cart/**", reason=HOSTILE)
        await swarm.hold("GreenHill", "src/pay/bank.py", exclusive=False)

        page = await swarm.text(f"/mail/{swarm.shop}/file_reservations")

        table, _, tree = page.partition("By folder")
        assert "<code>src/cart/**</code>" in table
        assert "&lt;script&gt;" in table
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert [
            label in tree for label in ("<code>src</code>", "<code>cart/**</code>", "<code>pay/bank.py</code>")
        ] == [True] * 3
        assert "stand against each other" not in page


async def test_those_that_stand_against_each_other_are_marked(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        one = await swarm.hold("BlueLake", "src/cart/**")
        other = await swarm.hold("GreenHill", "docs/**")
        # As an adoption leaves it: no grant makes such a pair.
        await swarm.app.store.write(
            lambda tx: tx._connection.execute("UPDATE leases SET path_pattern = 'src/**' WHERE id = ?", (other,))
        )

        page = await swarm.text(f"/mail/{swarm.shop}/file_reservations")

        assert "2 reservations here stand against each other" in page
        assert f'href="#r{one}">against {one}</a>' in page
        assert f'href="#r{other}">against {other}</a>' in page


async def test_patterns_that_are_too_many_to_compare_are_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reservations, "COMPARED_STEPS", 0)
    async with open_swarm(tmp_path) as swarm:
        await swarm.hold("BlueLake", "src/cart/**")
        await swarm.hold("GreenHill", "docs/**")

        assert "too many to compare" in await swarm.text(f"/mail/{swarm.shop}/file_reservations")


async def test_the_list_leads_on_and_shows_ended_ones_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reservations, "PAGE_SIZE", 1)
    async with open_swarm(tmp_path) as swarm:
        own = f"/mail/{swarm.shop}/file_reservations"
        first = await swarm.hold("BlueLake", "a.py")
        await swarm.hold("BlueLake", "b.py")

        assert f'rel="next" href="{own}?after={first}"' in await swarm.text(own)
        assert "a.py" not in await swarm.text(f"{own}?after={first}")

        await swarm.app.call("release_file_reservations", project_key=SHOP, agent_name="BlueLake", paths=["a.py"])

        assert "a.py" not in await swarm.text(own)
        assert ">release</span>" in await swarm.text(f"{own}?ended=1")


async def test_a_release_of_what_is_taken_up_meanwhile_is_refused_with_what_speaks_against_it(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        rules, swarm.app.services.leases.staleness.rules = swarm.app.services.leases.staleness.rules, AT_ONCE
        person = await swarm.sign_in()
        own = f"/mail/{swarm.shop}/file_reservations/{number}"
        token = csrf_in(await person.page(own), f"{own}/release")
        swarm.app.services.leases.staleness.rules = rules

        fields = {"csrf": token, "note": "I need <it>"}
        pressed = await person.client.post(f"{own}/release", data=fields, headers={"origin": ORIGIN})

        assert pressed.status_code == 409
        assert "its holder called lately" in pressed.text.partition("<dl")[0]
        assert "Write to BlueLake" in pressed.text.partition("<dl")[0]
        assert "Your word, which nobody got: I need &lt;it&gt;" in pressed.text
        assert ">live</span>" in await person.page(own)


async def test_no_release_is_offered_that_would_be_refused(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        person = await swarm.sign_in()
        own = f"/mail/{swarm.shop}/file_reservations/{number}"
        ask = f"/mail/{swarm.shop}/overseer/compose?to=BlueLake&subject=src%2Fcart%2F%2A%2A"

        page = html.unescape(await person.page(own))
        listed = await person.page(f"/mail/{swarm.shop}/file_reservations")
        form = await person.page(ask)

        assert "Release, and tell" not in page
        assert 'name="note"' not in page
        assert "It would be refused now: its holder called lately." in page
        assert re.search(r"If nothing happens there until then, you can release it <time[^>]*>in 3[01]m</time>", page)
        assert f'<a class="button" href="{ask}">Write to BlueLake</a>' in page
        assert f"<code>am reservations release {number} --project {swarm.shop}</code>" in page
        assert "Look, release" not in listed
        assert re.search(r'name="to"[^>]* value="BlueLake"', form)
        assert re.search(r'name="subject"[^>]* value="src/cart/\*\*"', form)


async def test_what_ends_before_its_holder_counts_as_gone_says_when_it_ends(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**", ttl_seconds=300)
        person = await swarm.sign_in()

        page = await person.page(f"/mail/{swarm.shop}/file_reservations/{number}")

        assert re.search(r"It ends <time[^>]*>in 5m</time> by itself, unless BlueLake renews it.", page)


async def test_what_could_not_be_looked_at_is_offered_with_that_said(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        staleness = swarm.app.services.leases.staleness
        person = await swarm.sign_in()
        own = f"/mail/{swarm.shop}/file_reservations/{number}"

        staleness.rules = StalenessRules(inactivity_s=0, grace_s=900)
        left = await person.page(own)
        staleness.rules = AT_ONCE  # By which also what was just seen is too old.
        unknown = await person.page(own)

        assert "Its holder looks gone." in left
        assert "Nothing tells of work, but its files or commits could not be looked at in time." in unknown
        assert [page.count("Release, and tell BlueLake") for page in (left, unknown)] == [1, 1]


async def test_the_evidence_is_told_in_words_for_people(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        person = await swarm.sign_in()
        own = f"/mail/{swarm.shop}/file_reservations/{number}"

        busy = await person.page(own)
        swarm.app.services.leases.staleness.rules = AT_ONCE
        idle = await person.page(own)

        assert "Its holder called lately. Its holder neither sent nor read mail for 15 minutes." in busy
        assert "No file fits its path, so files and commits tell nothing." in busy
        assert "Its holder made no call for 1 s." in idle
        assert "agent recently active" not in busy
        assert "unmatched" not in busy


async def test_whoever_may_release_can_ask_the_holder_first(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        swarm.app.services.leases.staleness.rules = AT_ONCE
        person = await swarm.sign_in()
        own = f"/mail/{swarm.shop}/file_reservations/{number}"

        page = html.unescape(await person.page(own))
        listed = await person.page(f"/mail/{swarm.shop}/file_reservations")

        assert "Ask BlueLake first</a>" in page
        assert "Release, and tell BlueLake" in page
        assert "Look, release" in listed


async def test_what_was_left_is_released_and_its_holder_told_with_the_note(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        swarm.app.services.leases.staleness.rules = AT_ONCE
        person = await swarm.sign_in()
        own = f"/mail/{swarm.shop}/file_reservations"

        pressed = await person.press(f"{own}/{number}", f"{own}/{number}/release", {"note": "We ship at noon"})

        assert (pressed.status_code, pressed.headers["location"]) == (303, f"{own}?released={number}")
        assert f"Reservation {number} is released." in await person.page(pressed.headers["location"])
        told = await swarm.app.call("fetch_inbox", project_key=SHOP, agent_name="BlueLake", include_bodies=True)
        assert "We ship at noon" in str(told)


async def late_release(swarm: Swarm, then: Sequence[str]) -> tuple[int, int, str]:
    """BlueLake gives its reservation back while the form is open, and each of `then` is taken by GreenHill."""
    number = await swarm.hold("BlueLake", "src/cart/**")
    swarm.app.services.leases.staleness.rules = AT_ONCE
    person = await swarm.sign_in()
    own = f"/mail/{swarm.shop}/file_reservations/{number}"
    token = csrf_in(await person.page(own), f"{own}/release")
    await swarm.app.call("release_file_reservations", project_key=SHOP, agent_name="BlueLake")
    for path in then:
        await swarm.hold("GreenHill", path)
    fields = {"csrf": token, "note": "You were <idle>"}
    pressed = await person.client.post(f"{own}/release", data=fields, headers={"origin": ORIGIN})
    return number, pressed.status_code, html.unescape(pressed.text)


async def test_a_release_that_comes_too_late_says_so_and_who_holds_the_files_by_now(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number, status, page = await late_release(swarm, ["src/cart/a=b.py", "docs/**"])

        assert status == 409
        assert f"Reservation {number} had ended already: nothing was released, and nobody was told by this." in page
        assert "GreenHill holds 'src/cart/a=b.py' now." in page
        assert "holds 'docs/**'" not in page
        assert "Your word, which nobody got: You were <idle>" in page
        told = await swarm.app.call("fetch_inbox", project_key=SHOP, agent_name="BlueLake", include_bodies=True)
        assert "idle" not in str(told)


async def test_a_release_that_comes_too_late_names_nobody_where_nobody_holds_the_files(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        _, status, page = await late_release(swarm, [])

        assert (status, "had ended already" in page, "holds '" in page) == (409, True, False)


async def test_a_holder_that_is_retired_is_not_said_to_be_told(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        swarm.app.services.leases.staleness.rules = AT_ONCE
        await swarm.app.store.write(
            lambda tx: tx._connection.execute("UPDATE agents SET retired_ts = 1 WHERE name = 'BlueLake'")
        )
        person = await swarm.sign_in()
        own = f"/mail/{swarm.shop}/file_reservations"

        pressed = await person.press(f"{own}/{number}", f"{own}/{number}/release", {"note": ""})
        after = await person.page(pressed.headers["location"])

        assert f"Reservation {number} is released." in after
        assert "Its holder was told" not in after
        assert "Its holder is retired, and was not told." in after


async def test_the_evidence_is_looked_at_when_who_may_release_opens_the_page(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        own = f"/mail/{swarm.shop}/file_reservations/{number}"

        anybody = await swarm.text(own)
        person = await swarm.sign_in()

        assert "not looked lately" in anybody
        assert "not looked lately" not in await person.page(own)
        await person.page(f"/mail/{swarm.bills}/file_reservations/{number}", 404)


async def test_nobody_but_the_operator_in_a_session_releases(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        own = f"/mail/{swarm.shop}/file_reservations/{number}"

        page = await swarm.text(own)
        anybody = await swarm.app.client.post(f"{own}/release", data={"note": ""}, headers={"origin": ORIGIN})
        asked = await swarm.app.client.get(f"{own}/release")

        assert '<form method="post" action="/mail/' + swarm.shop not in page
        assert (anybody.status_code, asked.status_code) == (401, 405)


async def test_what_has_ended_stands_against_nothing(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.hold("BlueLake", "src/cart/**")
        await swarm.app.call(
            "release_file_reservations", project_key=SHOP, agent_name="BlueLake", paths=["src/cart/**"]
        )
        await swarm.hold("GreenHill", "src/**")

        page = await swarm.text(f"/mail/{swarm.shop}/file_reservations?ended=1")

        assert "<code>src/cart/**</code>" in page
        assert "stand against each other" not in page
        assert ">against " not in page


async def test_a_session_that_may_not_release_looks_at_no_evidence(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**")
        operator = {"authorization": f"Bearer {OPERATOR}"}
        token = (await swarm.app.call("create_issued_token", operator, expires="1d", role="reader"))["token"]
        reader = await sign_in(swarm.app, token)

        page = await reader.page(f"/mail/{swarm.shop}/file_reservations/{number}")

        assert "not looked lately" in page
        assert 'name="note"' not in page


@pytest.mark.parametrize("number", ["99", "0"])
async def test_a_number_that_is_none_of_the_projects_is_not_found(tmp_path: Path, number: str) -> None:
    async with open_swarm(tmp_path) as swarm:
        await swarm.hold("BlueLake", "a.py")

        await swarm.text(f"/mail/{swarm.shop}/file_reservations/{number}", 404)
        await swarm.text(f"/mail/{swarm.bills}/file_reservations/1", 404)


async def test_how_long_one_lasts_yet_is_the_same_on_every_page(tmp_path: Path) -> None:
    async with open_swarm(tmp_path) as swarm:
        number = await swarm.hold("BlueLake", "src/cart/**", ttl_seconds=109 * 60)
        own = f"/mail/{swarm.shop}"

        for path in (
            f"{own}/file_reservations",
            f"{own}/file_reservations/{number}",
            f"{own}/agents/BlueLake",
            "/mail/now",
        ):
            assert ">1h 49m<" in (await swarm.text(path)).replace("in 1h", "1h"), path
