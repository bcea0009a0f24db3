"""Products of another system: several projects that make one thing."""

from __future__ import annotations

import hashlib

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.archive_format.products import product_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.importing.fitted_texts import fit_line, fit_time
from mcp_agent_mail.domain.importing.records import SourceKind, SourceProduct
from mcp_agent_mail.domain.products import (
    MAX_NAME_LENGTH,
    MAX_PRODUCTS,
    MAX_PROJECTS,
    Product,
    ProductLink,
    require_product_name,
    uid_of,
)
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.store.transaction import Tx, View

_UID_LENGTH = 32


def take_product(unit: RunningUnit, source: SourceProduct) -> None:
    """Once. A product of the same uid or name is the same one, and gets what projects it lacks."""
    counts = unit.tally.of(SourceKind.PRODUCT)
    if unit.find(SourceKind.PRODUCT, source.key) is not None:
        counts.known += 1
        return
    name = fit_line(source.name, MAX_NAME_LENGTH)
    if not name or not _is_fit(name):
        unit.tally.leave(SourceKind.PRODUCT, "its name is none that a product can have")
        return
    counts.added += 1
    if unit.tx is None:
        return
    projects = [project for key in source.project_keys if (project := unit.project(key)) is not None]
    assert projects, source.key  # Their records came before.
    product = _find(unit.view, source, name) or _add(unit, unit.tx, source, name)
    for project in projects:
        _link(unit, unit.tx, product, project)
    unit.take(SourceKind.PRODUCT, [source.key], product.id, projects[0].id)


def _is_fit(name: str) -> bool:
    try:
        return require_product_name(name) == name
    except AgentMailError:
        return False


def _find(view: View, source: SourceProduct, name: str) -> Product | None:
    uid = None if source.uid is None else uid_of(source.uid)
    by_uid = None if uid is None else view.products.find_by_uid(uid)
    return by_uid or view.products.find_by_name(name)


def _add(unit: RunningUnit, tx: Tx, source: SourceProduct, name: str) -> Product:
    """By its own uid where that is one, else by one that follows from where it comes from."""
    tx.require_room()
    place = f"{unit.source.system}\0{unit.source.store_id}\0{source.key}"
    made = hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:_UID_LENGTH]
    own = None if source.uid is None else uid_of(source.uid)
    return tx.products.add(uid=own or made, name=name, now=fit_time(source.created_ts))


def _link(unit: RunningUnit, tx: Tx, product: Product, project: Project) -> None:
    linked = tx.products.projects(product)
    if project.id in linked:
        return
    if len(linked) >= MAX_PROJECTS or tx.products.count_of(project.id) >= MAX_PRODUCTS:
        unit.tally.note(f"{project.human_key} is no part of the product {product.name}: one of them has too many.")
        return
    tx.products.link(product, project.id, tx.now)
    event = NewEvent(
        project_id=project.id,
        kind=EventKind.PRODUCT,
        agent_id=None,
        message_id=None,
        snapshot=product_snapshot(ProductLink(product=product, project_id=project.id, linked_ts=tx.now), None),
    )
    tx.outbox.add(event, tx.now)
