"""What `health_check` and `config/environment` show."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso_or_none
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.readership import may_count_all_mail
from mcp_agent_mail.features.health.results import Health, ServerPlace, SweepFigures

_PASSWORD = lazy_pattern(r"(?<=://)([^/@:]*):[^/@]*@")


def masked_url(url: str) -> str:
    """The URL with a password, if it holds one, as `***`."""
    return _PASSWORD.sub(r"\1:***@", url)


def show_health(health: Health, *, caller: Caller | None) -> Json:
    """The answer of `health_check`, for everybody. Figures of the store are null when it cannot be read; passwords in
    URLs are masked, times are UTC as ISO 8601. `feed_tail` rises with all mail, blind and other projects' too: it is
    null for whoever is not proven. `caller` is what the call proves its caller to be, null where its tokens are wrong.
    """
    place, backlog, care, size = health.place, health.backlog, health.archive_care, health.store_size
    return {
        "status": health.status.value,
        "environment": place.environment,
        "http_host": place.http_host,
        "http_port": place.http_port,
        "database_url": masked_url(place.database_url),
        "version": place.version,
        "caller": caller and caller.kind.value,
        "archive": {
            "pending_events": backlog.pending_events if backlog else None,
            "oldest_pending_s": round(backlog.oldest_pending_s, 3) if backlog else None,
            "last_commit_at": iso_or_none(health.last_commit_at),
            "last_error": health.archive_error,
            "packs": care.packs,
            "index_bytes": care.index_bytes,
            "care_error": care.last_error,
            "mending": care.workload and care.workload.mending,
            "to_mend": care.workload and care.workload.unfinished,
            "hung": care.workload and care.workload.hung,
            "converting": care.converting,
            "converted": care.converted,
        },
        "store": {
            "owner_pid": health.owner_pid,
            "schema_version": health.schema_version,
            "store_id": health.store_id,
            "used_bytes": size and size.used_bytes,
            "free_bytes": size and size.free_bytes,
            "last_error": health.store_problem,
        },
        "reservations": None if health.sweep is None else _show_sweep(health.sweep),
        "workers": health.workers,
        "delivery": {
            "waits": health.waiting and health.waiting.waits,
            "streams": health.waiting and health.waiting.streams,
            "limit": health.waiting and health.waiting.limit,
            "feed_tail": health.feed_tail if caller is not None and may_count_all_mail(caller) else None,
        },
        "failing": [
            {
                "task": one.task,
                "since": iso_or_none(one.failing_since),
                "error": one.error,
                "restarts": one.restarts,
            }
            for one in health.failing
        ],
    }


def _show_sweep(sweep: SweepFigures) -> Json:
    return {
        "releases_idle": sweep.releases_idle,
        "swept_at": iso_or_none(sweep.swept_at),
        "expired": sweep.expired,
        "released_idle": sweep.released_idle,
        "last_error": sweep.last_error,
    }


def show_environment(place: ServerPlace) -> Json:
    """The server's address and database for everybody: a password in the URL is masked."""
    return {
        "environment": place.environment,
        "database_url": masked_url(place.database_url),
        "http": {"host": place.http_host, "port": place.http_port, "path": place.http_path},
    }
