"""What the check of health answers."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.concurrency.keeper import KeeperFigures
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.events import Backlog
from mcp_agent_mail.features.archiving.service import CareFigures
from mcp_agent_mail.features.health.store_size import StoreSizeFigures


class HealthStatus(StrEnum):
    """`degraded`: mail is safe and served, but its archive lags, a task beside the requests fails, or there is no room
    for more. `error`: the store cannot be read or written.
    """

    OK = "ok"
    DEGRADED = "degraded"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPlace:
    """Where this server is and what it calls itself. `database_url` may hold a password: mask it when shown."""

    environment: str
    http_host: str
    http_port: int
    http_path: str
    database_url: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepFigures:
    """What the sweeper of reservations did since the start; `swept_at` is None before its first pass."""

    releases_idle: bool
    swept_at: Micros | None
    expired: int
    released_idle: int
    last_error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFigures:
    """Calls that wait for mail, and streams of events that are open; `limit` is of both together."""

    waits: int
    streams: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    status: HealthStatus
    place: ServerPlace
    backlog: Backlog | None
    last_commit_at: Micros | None
    archive_error: str | None
    archive_care: CareFigures
    sweep: SweepFigures | None
    workers: dict[str, Json]
    waiting: WaitingFigures | None
    feed_tail: int | None
    failing: list[KeeperFigures]
    store_size: StoreSizeFigures | None
    store_problem: str | None
    owner_pid: int
    schema_version: int | None
    store_id: str | None
