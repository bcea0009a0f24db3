"""Who may write to whom, as another system had it: direction and expiry stay, a denial stays one."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import ContactId
from mcp_agent_mail.domain.archive_format.contacts import contact_snapshot
from mcp_agent_mail.domain.contacts import REQUEST_TTL_S, Contact, LinkStatus
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.importing.fitted_texts import fit_text, fit_time
from mcp_agent_mail.domain.importing.records import SourceKind, SourceLink
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.store.transaction import Tx


def take_link(unit: RunningUnit, source: SourceLink) -> None:
    """Once. What the two have agreed here stands. Nobody is asked: no introduction is sent."""
    counts = unit.tally.of(SourceKind.LINK)
    if unit.find(SourceKind.LINK, source.key) is not None:
        counts.known += 1
        return
    sender, target = unit.agent(source.from_agent_key), unit.agent(source.to_agent_key)
    is_self = source.from_agent_key == source.to_agent_key or (sender is not None and sender == target)
    if is_self:
        unit.tally.leave(SourceKind.LINK, "an agent needs no link to itself")
        return
    if sender is not None and target is not None and unit.view.contacts.find(sender.id, target.id) is not None:
        unit.tally.leave(SourceKind.LINK, "the two have a link here, which stands")
        return
    counts.added += 1
    if unit.tx is None:
        return
    assert sender is not None, source.key
    assert target is not None, source.key
    unit.tx.require_room()
    contact = unit.tx.contacts.put(
        sender.id,
        target.id,
        status=source.status,
        reason=fit_text(source.reason),
        expires_ts=_expiry(source),
        now=unit.tx.now,
    )
    contact = _dated(unit.tx, contact, source)
    _tell(unit.tx, contact)
    unit.take(SourceKind.LINK, [source.key], contact.id, contact.target.project_id)


def _expiry(source: SourceLink) -> Micros | None:
    if source.status is LinkStatus.BLOCKED:
        return None
    if source.expires_ts is not None:
        return fit_time(source.expires_ts)
    if source.status is LinkStatus.PENDING:
        return fit_time(Micros(source.updated_ts + REQUEST_TTL_S * SECOND))
    return None


def _dated(tx: Tx, contact: Contact, source: SourceLink) -> Contact:
    created_ts = fit_time(source.created_ts)
    tx.past_times.set_contact(ContactId(contact.id), created_ts, max(created_ts, fit_time(source.updated_ts)))
    dated = tx.contacts.find(contact.source.agent_id, contact.target.agent_id)
    assert dated is not None, contact
    return dated


def _tell(tx: Tx, contact: Contact) -> None:
    for project_id in dict.fromkeys((contact.target.project_id, contact.source.project_id)):
        event = NewEvent(
            project_id=project_id,
            kind=EventKind.CONTACT,
            agent_id=None,
            message_id=None,
            snapshot=contact_snapshot(contact, project_id, None),
        )
        tx.outbox.add(event, tx.now)
