"""What is asked for each tool, resource, prompt and route: as the blind recipient, whose mail nobody else may read.

A tool or a resource without a line here fails the matrix. What changes or ends something does it in a project of its
own, so that everybody who asks meets the same server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.attack.served_secrets import APP, ATTACHED_SHA256, BLIND, PRODUCT, SPARE, THREAD, TOPIC, ServedSecrets
from tests.served import Json

Arguments = Mapping[str, Json]

_PROFILE = {"program": "tests", "model": "none"}
_HERE = {"project_key": APP}
_AS_BLIND = {"project_key": APP, "agent_name": BLIND}
_SPARE = {"project_key": SPARE, "agent_name": "SpareOne"}
_UNKNOWN_WINDOW = {"project_key": APP, "window_uuid": "00000000-58a6-4c8e-9a0a-5d1b6f2a7c99"}
_PATHS = {"paths": ["src/held.py"]}
_LETTER = {"subject": "Asking", "body_md": "", "to": ["RedStone"]}
_LINK = {"project_key": APP, "from_agent": BLIND, "to_agent": "GreyOwl"}
_QUERY = {"query": "About OR Decision"}
_SINCE = {"project_key": APP, "since_hours": 1}

TOOLS: Mapping[str, Arguments] = {
    "health_check": {},
    "checkout_archive_month": {"project_slug": "code-reading-spare", "month": "2020-01"},
    "import_records": {"system": "other", "store_id": "one", "records": ""},
    "import_content": {"sha256": "0" * 64, "offset": 0, "piece": "", "is_last": False},
    "ensure_project": {"human_key": APP, "identity_mode": "dir"},
    "archive_project": {"project_key": SPARE},
    "unarchive_project": {"project_key": SPARE},
    "install_precommit_guard": {"project_key": APP, "code_repo_path": "/nowhere/at/all"},
    "uninstall_precommit_guard": {"code_repo_path": "/nowhere/at/all"},
    "list_guard_events": {},
    "register_agent": {**_HERE, **_PROFILE, "name": BLIND, "task_description": "as it was"},
    "create_agent_identity": {"project_key": SPARE, **_PROFILE},
    "whois": {"project_key": APP, "agent_name": "BlueLake", "commit_limit": 50},
    "list_agents": _HERE,
    "deregister_agent": _SPARE,
    "unretire_agent": _SPARE,
    "set_status": {**_SPARE, "status": "busy"},
    "reissue_token": _SPARE,
    "create_join_code": _HERE,
    "list_join_codes": _HERE,
    "revoke_join_code": {**_HERE, "join_code_id": 1_000_000},
    "create_issued_token": {},
    "list_issued_tokens": {"include_ended": True},
    "revoke_issued_token": {"issued_token_id": 1_000_000},
    "create_sign_in_link": {},
    "list_doors": {},
    "list_door_names": {},
    "link_door_name": {"name": "GreyOwl", "door": "postal"},
    "unlink_door_name": {"name": "GreyOwl", "door": "postal"},
    "list_window_identities": _HERE,
    "rename_window": {**_UNKNOWN_WINDOW, "new_display_name": "Another"},
    "expire_window": _UNKNOWN_WINDOW,
    "request_contact": _LINK,
    "respond_contact": {"project_key": APP, "to_agent": "GreyOwl", "from_agent": "RedStone", "accept": False},
    "set_contact_policy": {**_SPARE, "policy": "auto"},
    "list_contacts": {"project_key": APP, "agent_name": "GreyOwl"},
    "heartbeat": {**_SPARE, "session": "a", "event": "idle", "client": "tests"},
    "hook_event": {**_AS_BLIND, "session": "a", "event": "turn", "least": "any", "stop": True, "reprime": True},
    "hook_told": {**_SPARE, "session": "a", "claim": "none"},
    "held_mail": {"project_key": APP, "agent_name": "GreyOwl"},
    "contact_requests": {"project_key": APP, "agent_name": "GreyOwl"},
    "send_message": {"project_key": APP, "sender_name": BLIND, **_LETTER},
    "reply_message": {"project_key": APP, "sender_name": BLIND, "body_md": "", "message_id": 2},
    "mark_message_read": {**_AS_BLIND, "message_id": 1},
    "acknowledge_message": {**_AS_BLIND, "message_id": 1},
    "owed_acknowledgements": {**_HERE, "min_age_seconds": 0},
    "remind_acknowledgements": {"project_key": SPARE},
    "read_mail": {**_HERE, "thread_id": THREAD},
    "list_threads": _HERE,
    "fetch_inbox": {**_AS_BLIND, "include_bodies": True},
    "fetch_topic": {**_HERE, "topic_name": TOPIC},
    "message_status": {**_AS_BLIND, "message_id": 1},
    "wait_for_messages": {**_AS_BLIND, "after_cursor": 0, "timeout_s": 1},
    "hook_wait": {**_AS_BLIND, "after_cursor": 0, "timeout_s": 1},
    "fetch_inbox_events": _AS_BLIND,
    "withdraw_message": {"project_key": SPARE, "sender_name": "SpareOne", "message_id": 1_000_000},
    "purge_old_messages": {**_HERE, "max_age_days": 1},
    "file_reservation_paths": {**_AS_BLIND, **_PATHS},
    "check_file_reservation_conflicts": {**_AS_BLIND, **_PATHS},
    "release_file_reservations": _AS_BLIND,
    "renew_file_reservations": _AS_BLIND,
    "force_release_file_reservation": {**_AS_BLIND, "file_reservation_id": 1},
    "acquire_build_slot": {**_AS_BLIND, "slot": "another"},
    "renew_build_slot": {**_AS_BLIND, "slot": "another"},
    "release_build_slot": {**_AS_BLIND, "slot": "another"},
    "search_messages": {**_HERE, **_QUERY},
    "summarize_thread": {**_HERE, "thread_id": THREAD, "include_examples": True},
    "summarize_recent": _SINCE,
    "fetch_summary": _SINCE,
    "ensure_product": {"name": PRODUCT},
    "products_link": {"product_key": PRODUCT, **_HERE},
    "search_messages_product": {"product_key": PRODUCT, **_QUERY},
    "fetch_inbox_product": {"product_key": PRODUCT, "agent_name": BLIND, "include_bodies": True},
    "summarize_thread_product": {"product_key": PRODUCT, "thread_id": THREAD, "include_examples": True},
    "macro_start_session": {"human_key": APP, **_PROFILE, "agent_name": BLIND},
    "macro_prepare_thread": {**_HERE, **_PROFILE, "thread_id": THREAD},
    "macro_file_reservation_cycle": {**_AS_BLIND, **_PATHS, "auto_release": True},
    "macro_contact_handshake": {**_HERE, "requester": BLIND, "target": "RedStone"},
}

_AS_SENDER = {"project_key": APP, "agent_name": "BlueLake"}

IN_THE_SENDERS_NAME: Mapping[str, Arguments] = {
    "message_status": {**_AS_SENDER, "message_id": "blind copy"},
    "fetch_inbox_events": _AS_SENDER,
    "wait_for_messages": {**_AS_SENDER, "after_cursor": 0, "timeout_s": 1},
    "hook_wait": {**_AS_SENDER, "after_cursor": 0, "timeout_s": 1},
}
"""Asked again as somebody who sent blind copies: what becomes of them is told to it alone. `message_id` may be the name
of a secret.
"""

RESOURCES: Mapping[str, str] = {
    "resource://config/environment": "config/environment",
    "resource://identity/{project}": "identity/code-reading-app",
    "resource://projects{?include_archived,limit,after_id}": "projects",
    "resource://project/{slug}": "project/code-reading-app",
    "resource://agents/{project_key}{?include_retired}": "agents/code-reading-app",
    "resource://message/{message_id}{?project}": "message/{blind}?project={app}",
    "resource://attachment/{sha256}{?project}": f"attachment/{ATTACHED_SHA256}?project={{app}}",
    "resource://thread/{thread_id}{?project,include_bodies,limit,after_id}": (
        f"thread/{THREAD}?project={{app}}&include_bodies=true"
    ),
    "resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit}": f"inbox/{BLIND}?project={{app}}",
    "resource://outbox/{agent}{?project,limit,include_bodies,since_ts}": "outbox/BlueLake?project={app}",
    "resource://mailbox/{agent}{?project,limit}": f"mailbox/{BLIND}?project={{app}}",
    "resource://mailbox-with-commits/{agent}{?project,limit}": f"mailbox-with-commits/{BLIND}?project={{app}}",
    "resource://views/urgent-unread/{agent}{?project,limit}": f"views/urgent-unread/{BLIND}?project={{app}}",
    "resource://views/ack-required/{agent}{?project,limit}": f"views/ack-required/{BLIND}?project={{app}}",
    "resource://views/acks-stale/{agent}{?project,ttl_seconds,limit}": f"views/acks-stale/{BLIND}?project={{app}}",
    "resource://views/ack-overdue/{agent}{?project,ttl_minutes,limit}": f"views/ack-overdue/{BLIND}?project={{app}}",
    "resource://file_reservations/{slug}{?active_only,limit,after_id}": "file_reservations/code-reading-app",
    "resource://product/{key}": f"product/{PRODUCT}",
    "resource://tooling/directory": "tooling/directory",
    "resource://tooling/schemas": "tooling/schemas",
    "resource://tooling/metrics": "tooling/metrics",
    "resource://tooling/locks": "tooling/locks",
    "resource://tooling/capabilities/{agent}{?project}": f"tooling/capabilities/{BLIND}?project={{app}}",
    "resource://tooling/recent/{window_seconds}{?agent,project}": "tooling/recent/3600",
}

_CHECK = {"project": APP, "agent": None, "author": None, "paths": ["src/held.py"]}

ROUTES: Mapping[str, tuple[str, Json]] = {
    "/health/liveness": ("GET", None),
    "/health/readiness": ("GET", None),
    "/.well-known/oauth-authorization-server": ("GET", None),
    "/metrics": ("GET", None),
    f"/attachments/code-reading-app/{ATTACHED_SHA256}": ("GET", None),
    "/guard/check": ("POST", _CHECK),
    "/guard/events": ("POST", {"events": []}),
    f"/rest/v1/inbox?project_key={APP}&agent_name={BLIND}&include_bodies=true": ("GET", None),
    f"/rest/v1/search?project_key={APP}&query=secret": ("GET", None),
    "/rest/v1/openapi.json": ("GET", None),
}

EVENTS = f"/rest/v1/events?project_key={APP}&agent_name=BlueLake&after=0"
"""A stream, which does not end: its first events are asked for, as the sender."""

COMPLETIONS = ("project", "slug", "agent", "thread_id")


def uri_of(template: str, served: ServedSecrets, slug: Callable[[str], str]) -> str:
    filled = RESOURCES[template].replace("{app}", APP).replace("{blind}", str(served.ids["blind copy"]))
    return "resource://" + filled.replace("code-reading-app", slug(APP))
