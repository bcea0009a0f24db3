"""Steps of products: a few that all clients make and link their project to."""

from __future__ import annotations

from collections.abc import Mapping

from tests.crash.actor import Actor, Step
from tests.crash.evidence import Evidence, Look
from tests.crash.record import Cell, Value
from tests.served import Connection

PRODUCTS = ("storefront", "back office", "tools")


def link(actor: Actor, connection: Connection) -> None:
    name = actor.chance.choice(PRODUCTS)
    product = actor.ask(connection, "ensure_product", name=name)
    if product is None:
        return
    uid = product["product_uid"]
    actor.record.settle(("product", name), uid)
    actor.change(connection, "products_link", ("linked", uid, actor.project), True, product_key=uid)


STEPS = (Step(("ensure_product", "products_link"), 1, link),)


def _products(evidence: Evidence) -> Mapping[Cell, Value]:
    return {("product", name): uid for name, uid in evidence.rows("SELECT name, product_uid FROM products")}


def _links_in_store(evidence: Evidence) -> Mapping[Cell, Value]:
    query = (
        "SELECT d.product_uid, p.human_key FROM product_projects l JOIN products d ON d.id = l.product_id "
        "JOIN projects p ON p.id = l.project_id"
    )
    return {("linked", uid, project): True for uid, project in evidence.rows(query)}


def _links_in_git(evidence: Evidence) -> Mapping[Cell, Value]:
    documents = evidence.documents(r"products/.+\.json").items()
    return {("linked", document["product_uid"], project): True for (project, _), document in documents}


LOOKS = (
    Look("product", "SQLite", _products),
    Look("linked", "SQLite", _links_in_store),
    Look("linked", "Git", _links_in_git),
)
