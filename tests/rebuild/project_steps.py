"""Steps of projects, products and summaries, of the clock, and of the way into Git."""

from __future__ import annotations

from tests.rebuild.history import DAY, HOUR, LATE, History, Step

DIRECTORIES = ("app", "lib", "late", "link-to-app", "app/sub", "app/deep")
"""Below the folder of code: `app` is a Git repository, `link-to-app` another way to it."""
PRODUCTS = ("storefront", "Back Office", "tools ü")


async def ensure(history: History) -> None:
    path = history.code / history.chance.choice(DIRECTORIES)
    mode = (
        {"identity_mode": history.chance.choice(["dir", "git-toplevel", "git-toplevel"])} if history.luck(0.6) else {}
    )
    await history.do("ensure_project", human_key=str(path), **mode)


async def put_aside(history: History) -> None:
    if len(history.world.rows("SELECT 1 FROM projects WHERE archived_ts IS NULL")) > 1:
        await history.do("archive_project", project_key=history.project())


async def bring_back(history: History) -> None:
    row = history.some("SELECT human_key FROM projects WHERE archived_ts IS NOT NULL ORDER BY id")
    if row is not None:
        await history.do("unarchive_project", project_key=row[0])


async def adopt(history: History) -> None:
    """A project becomes part of another, where their agents' names allow it."""
    slugs = [slug for (slug,) in history.world.rows("SELECT slug FROM projects WHERE archived_ts IS NULL ORDER BY id")]
    if len(slugs) > 2:
        fit = [slug for slug in slugs if LATE in slug]
        source = history.chance.choice(fit or slugs)
        await history.act("adopt", history.world.adopt(source, history.chance.choice(slugs)))


async def link_product(history: History) -> None:
    made = await history.do("ensure_product", name=history.chance.choice(PRODUCTS))
    if made is not None:
        await history.do("products_link", product_key=made["product_uid"], project_key=history.project())


async def summarize(history: History) -> None:
    await history.do("summarize_recent", project_key=history.project(), since_hours=48)


async def pass_time(history: History) -> None:
    """Mostly on; now and then back, as a clock is set."""
    history.world.clock.step(history.chance.choice([60, HOUR, 6 * HOUR, DAY, 3 * DAY, -HOUR, -DAY]))


async def drain(history: History) -> None:
    await history.act("drain", history.world.drain())


STEPS = (
    Step(("ensure_project",), 2, ensure),
    Step(("archive_project",), 0.6, put_aside),
    Step(("unarchive_project",), 1.5, bring_back),
    Step(("adopt",), 0.7, adopt),
    Step(("ensure_product", "products_link"), 2, link_product),
    Step(("summarize_recent",), 0.5, summarize),
    Step(("clock",), 6, pass_time),
    Step(("drain",), 3, drain),
)
