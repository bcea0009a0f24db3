"""Mail of several projects read together: whose it is, and who may."""

from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import AuthenticationRequired, NotFound, PermissionDenied
from mcp_agent_mail.features.products import inbox as product_inbox
from tests.features.products.harness import APP, FAR, LIB, NOBODY, OPERATOR, ProductsHarness


async def test_the_same_name_in_two_projects_is_two_inboxes_newest_first(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    first = await harness.send(APP, "RedStone", ["BlueLake"], "to app")
    second = await harness.send(LIB, "QuietFox", ["BlueLake"], "to lib")
    third = await harness.send(APP, "RedStone", ["BlueLake"], "to app again")
    await harness.send(FAR, "Human", ["BlueLake"], "to far")

    items = await harness.inbox()

    assert [(item["id"], item["project"]) for item in items] == [(third, APP), (second, LIB), (first, APP)]
    assert [item["kind"] for item in items] == ["to"] * 3


async def test_one_message_to_both_is_in_both(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    number = await harness.send(APP, "RedStone", ["BlueLake", "BlueLake@code-lib"], "to both")

    items = await harness.inbox()

    assert [(item["id"], item["project"], item["from"]) for item in items] == [
        (number, LIB, "RedStone@code-app"),
        (number, APP, "RedStone"),
    ]


async def test_pages_are_read_to_the_limit_over_all_inboxes(
    harness: ProductsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(product_inbox, "_AT_ONCE", 2)
    await harness.link(APP, LIB)
    sent = [
        await harness.send(*((APP, "RedStone") if number % 3 else (LIB, "QuietFox")), ["BlueLake"], f"no. {number}")
        for number in range(12)
    ]

    assert [item["id"] for item in await harness.inbox(limit=7)] == sent[:4:-1]
    assert [item["id"] for item in await harness.inbox()] == sent[::-1]


async def test_urgent_mail_mail_since_a_time_and_bodies(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    await harness.send(APP, "RedStone", ["BlueLake"], "old", importance="urgent")
    since = iso(harness.seeded.clock())
    await harness.send(APP, "RedStone", ["BlueLake"], "plain")
    await harness.send(LIB, "QuietFox", ["BlueLake"], "high", importance="high", body_md="the body")

    items = await harness.inbox(urgent_only=True, since_ts=since, include_bodies=True)

    assert [(item["subject"], item["body_md"]) for item in items] == [("high", "the body")]


async def test_reading_marks_nothing_read(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    await harness.send(APP, "RedStone", ["BlueLake"], "plain")

    await harness.inbox()

    assert harness.rows("SELECT count(*) FROM recipients WHERE read_ts IS NOT NULL") == [(0,)]


async def test_a_proven_agent_sees_its_namesakes_mail_less_blind_copies(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    own = await harness.send(APP, "RedStone", ["GreenField"], "own", bcc=["BlueLake"])
    seen = await harness.send(LIB, "QuietFox", ["BlueLake"], "seen")
    blind = await harness.send(LIB, "QuietFox", ["Human"], "blind", bcc=["BlueLake"])

    items = await harness.inbox(harness.proof(harness.seeded.blue))

    assert [item["id"] for item in items] == [seen, own]
    assert blind in [item["id"] for item in await harness.inbox(NOBODY)], "a name alone is taken at its word"
    assert blind in [item["id"] for item in await harness.inbox(OPERATOR)]


async def test_a_proven_agent_reads_no_inbox_of_another_name(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)

    with pytest.raises(PermissionDenied):
        await harness.inbox(harness.proof(harness.seeded.blue), agent="QuietFox")


async def test_an_agent_of_a_project_outside_reads_nothing(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)

    with pytest.raises(PermissionDenied):
        await harness.inbox(harness.proof(harness.far_blue))
    with pytest.raises(PermissionDenied):
        await harness.found("plan", harness.proof(harness.far_blue))


async def test_under_strict_mail_of_a_product_needs_a_proof(strict_harness: ProductsHarness) -> None:
    harness = strict_harness
    await harness.link(APP, LIB)
    number = await harness.send(LIB, "QuietFox", ["BlueLake"], "plan")

    with pytest.raises(AuthenticationRequired):
        await harness.inbox()
    with pytest.raises(AuthenticationRequired):
        await harness.found("plan")
    assert [item["id"] for item in await harness.inbox(harness.proof(harness.seeded.blue))] == [number]


async def test_a_name_that_no_project_of_the_product_has_is_not_found(harness: ProductsHarness) -> None:
    await harness.link(APP)

    with pytest.raises(NotFound) as refused:
        await harness.inbox(agent="QuietFix")
    assert refused.value.data["projects"] == [APP]
    await harness.link(LIB)
    with pytest.raises(NotFound) as refused:
        await harness.inbox(agent="QuietFix")
    assert refused.value.data["nearest"] == ["QuietFox"]
    assert refused.value.hint.startswith("Did you mean QuietFox? Its projects are /code/app, /code/lib; list_agents ")


async def test_where_no_name_of_a_product_is_near_some_of_those_there_are_named(harness: ProductsHarness) -> None:
    await harness.link(APP)

    with pytest.raises(NotFound) as refused:
        await harness.inbox(agent="Xyz")

    assert sorted(refused.value.data["present"]) == ["BlueLake", "GreenField", "RedStone"]
    assert "There are " in refused.value.hint


async def test_a_product_without_a_project_says_how_to_add_one(harness: ProductsHarness) -> None:
    await harness.link(APP)
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.seeded.app.id, tx.now))

    with pytest.raises(NotFound) as refused:
        await harness.inbox(agent="BlueLake")

    assert refused.value.hint == "The product has no project yet: products_link adds one."


async def test_a_search_finds_mail_of_every_project_of_the_product_and_of_no_other(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    one = await harness.send(APP, "RedStone", ["BlueLake"], "checkout plan")
    two = await harness.send(LIB, "QuietFox", ["BlueLake"], "checkout plan")
    await harness.send(FAR, "Human", ["BlueLake"], "checkout plan")

    hits = await harness.found("checkout")

    assert [(hit["id"], hit["project_id"], hit["project"]) for hit in hits] == [
        (two, harness.seeded.lib.id, LIB),
        (one, harness.seeded.app.id, APP),
    ]
    assert [hit["from"] for hit in hits] == ["QuietFox", "RedStone"]


async def test_mail_of_two_of_the_projects_is_found_once_in_its_senders(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    number = await harness.send(LIB, "QuietFox", ["BlueLake", "RedStone@code-app"], "checkout plan")

    assert [(hit["id"], hit["project"]) for hit in await harness.found("checkout")] == [(number, LIB)]


async def test_mail_from_outside_is_found_in_the_project_that_got_it(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    number = await harness.send(FAR, "BlueLake", ["QuietFox@code-lib"], "checkout plan")

    (hit,) = await harness.found("checkout")

    assert (hit["id"], hit["project"], hit["from"]) == (number, LIB, "BlueLake@code-far")


async def test_a_blind_copy_from_outside_is_not_found(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    await harness.send(FAR, "BlueLake", ["Human"], "checkout plan", bcc=["QuietFox@code-lib"])

    assert await harness.found("checkout") == []
    assert await harness.found("checkout", harness.proof(harness.seeded.fox)) == []


async def test_a_search_keeps_to_its_limit_and_finds_nothing_for_nothing(harness: ProductsHarness) -> None:
    assert await harness.found("checkout") == [], "a product without projects"
    await harness.link(APP, LIB)
    for number in range(3):
        await harness.send(APP, "RedStone", ["BlueLake"], f"checkout {number}")

    assert len(await harness.found("checkout", limit=2)) == 2
    assert await harness.found("*") == []


async def test_an_archived_project_is_passed_over(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    await harness.send(LIB, "QuietFox", ["BlueLake"], "checkout plan")
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.seeded.lib.id, tx.now))

    assert await harness.found("checkout") == []
    assert await harness.inbox() == []
    assert len((await harness.read("product/storefront"))["projects"]) == 2


async def test_an_agent_of_a_linked_project_opens_what_the_search_found(harness: ProductsHarness) -> None:
    number = await harness.send(LIB, "QuietFox", ["BlueLake"], "checkout plan", thread_id="T-1")
    reader = harness.proof(harness.seeded.red)
    with pytest.raises(NotFound):
        await harness.read(f"message/{number}?project=%2Fcode%2Flib", reader)
    with pytest.raises(PermissionDenied):
        await harness.read("thread/T-1?project=%2Fcode%2Flib", reader)

    await harness.link(APP, LIB)

    assert (await harness.read(f"message/{number}?project=%2Fcode%2Flib", reader))["subject"] == "checkout plan"
    assert (await harness.read("thread/T-1?project=%2Fcode%2Flib", reader))["total"] == 1
    assert [
        hit["id"] for hit in (await harness.call("search_messages", reader, project_key=LIB, query="plan"))["result"]
    ]


async def test_being_part_of_another_product_opens_nothing(harness: ProductsHarness) -> None:
    await harness.call("ensure_product", name="other")
    await harness.link(APP, LIB)
    await harness.link(FAR, product="other")
    number = await harness.send(LIB, "QuietFox", ["BlueLake"], "checkout plan")

    with pytest.raises(NotFound):
        await harness.read(f"message/{number}?project=%2Fcode%2Flib", harness.proof(harness.far_blue))


async def test_a_link_opens_no_blind_copy_and_no_inbox(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    number = await harness.send(FAR, "BlueLake", ["Human"], "checkout plan", bcc=["QuietFox@code-lib"])

    with pytest.raises(NotFound):
        await harness.read(f"message/{number}?project=%2Fcode%2Flib", harness.proof(harness.seeded.red))
    with pytest.raises(PermissionDenied):
        await harness.call("fetch_inbox", harness.proof(harness.seeded.red), project_key=LIB, agent_name="QuietFox")


async def test_a_thread_is_summarized_over_all_projects_each_message_once(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    await harness.send(APP, "BlueLake", ["RedStone", "QuietFox@code-lib"], "plan", thread_id="T-1")
    await harness.send(LIB, "BlueLake", ["QuietFox"], "more", thread_id="T-1")
    await harness.send(LIB, "QuietFox", ["BlueLake"], "yes", thread_id="T-1")
    await harness.send(FAR, "BlueLake", ["Human"], "elsewhere", thread_id="T-1")

    found = await harness.call(
        "summarize_thread_product", product_key="storefront", thread_id="T-1", include_examples=True
    )

    assert list(found) == ["thread_id", "summary", "examples"]
    assert found["summary"]["total_messages"] == 3
    assert sorted(found["summary"]["participants"]) == ["BlueLake@code-app", "BlueLake@code-lib", "QuietFox"]


async def test_a_thread_that_a_reply_started_begins_with_the_message_answered(harness: ProductsHarness) -> None:
    await harness.link(APP, LIB)
    root = await harness.send(APP, "RedStone", ["BlueLake"], "question")
    await harness.send(APP, "BlueLake", ["RedStone"], "answer", thread_id=str(root))
    wanted = {"product_key": "storefront", "thread_id": str(root)}

    found = await harness.call("summarize_thread_product", **wanted)
    newest = await harness.call("summarize_thread_product", **wanted, per_thread_limit=1)

    assert sorted(found["summary"]["participants"]) == ["BlueLake", "RedStone"]
    assert (newest["summary"]["total_messages"], newest["summary"]["participants"]) == (2, ["BlueLake"])


async def test_a_thread_of_no_project_of_the_product_is_not_found(harness: ProductsHarness) -> None:
    await harness.link(APP)
    await harness.send(FAR, "BlueLake", ["Human"], "elsewhere", thread_id="T-1")

    with pytest.raises(NotFound):
        await harness.call("summarize_thread_product", product_key="storefront", thread_id="T-1")


async def test_a_thread_is_summarized_only_for_agents_of_the_product(harness: ProductsHarness) -> None:
    await harness.link(APP)
    await harness.send(APP, "BlueLake", ["RedStone"], "plan", thread_id="T-1")

    with pytest.raises(PermissionDenied):
        await harness.call(
            "summarize_thread_product", harness.proof(harness.far_blue), product_key="storefront", thread_id="T-1"
        )
