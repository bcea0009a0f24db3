"""What the profile `claims` keeps of the earlier system's wire, row by row."""

from __future__ import annotations

from tests.facades.facts import Fact

_TOOLS = {
    "create_agent": "`project_key`, `program`, `model`, `task_description` (may be left out), `name_hint`",
    "whois": "`project_key`, `agent_name`",
    "list_agents": "`project_key`; ours beside it: `active_within_s`, `include_retired`, `limit`",
    "send_message": "`project_key`, `from_agent`, `to`, `subject`, `body_md`, `cc`, `bcc`, `importance`, "
    "`ack_required`, `thread_id`, `convert_images`, `image_embed_policy` (`auto`, `inline`, `file`), "
    "`inline_max_bytes`",
    "reply_message": "`project_key`, `from_agent`, `reply_to_message_id`, `body_md`, and what `send_message` has of "
    "recipients, importance and images",
    "check_my_messages": "`project_key`, `agent_name`, `since_ts` (0), `urgent_only` (false), "
    "`include_bodies` (false), `limit` (20)",
    "acknowledge_message": "`project_key`, `agent_name`, `message_id`",
    "claim_paths": "`project_key`, `agent_name`, `paths`, `ttl_seconds`, `exclusive`, `reason`",
    "release_claims": "`project_key`, `agent_name`, `paths`",
    "search_messages": "`project_key`, `query`, `limit`",
    "summarize_thread": "`project_key`, `thread_id`, `include_examples`",
    "install_precommit_guard": "`project_key`, `code_repo_path`",
    "uninstall_precommit_guard": "`code_repo_path`",
}

_SERVED = (
    ("thirteen", "`tools/list` at `/mcp?profile=claims` has exactly thirteen tools"),
    *((f"takes-{name}", f"`{name}` takes {parameters}") for name, parameters in _TOOLS.items()),
    ("no-ensure-project", "There is no `ensure_project`"),
    ("makes-project", "`create_agent` makes the project of an absolute path; no other tool makes one"),
    ("task-optional", "`create_agent` without `task_description` and `name_hint` makes an agent with a generated name"),
    ("hint-alnum", "Of `name_hint` letters and digits are kept: `Green-Castle!` is `GreenCastle`"),
    ("hint-taken", "A `name_hint` that is taken gives a generated name"),
    ("whois", "`whois` gives the profile as it was stored"),
    ("list-recent", "`list_agents` gives activity, and can be confined to those active lately"),
    ("active", "Sending and looking into an inbox make an agent active"),
    (
        "unknown-sender",
        "Whoever is not registered is told `from_agent not registered: NAME`, and to use `create_agent`",
    ),
    ("recipients", "`to`, `cc` and `bcc` are lists of names; copies come to each; nobody else sees blind ones"),
    ("importance", "`importance` and `ack_required` come with the message"),
    ("check-since", "`since_ts` is in seconds since 1970, with or without a fraction; 0 is everything"),
    ("check-urgent", "`urgent_only` gives mail of importance `high` and `urgent` alone"),
    ("check-bodies", "Bodies come with `include_bodies` alone"),
    ("check-limit", "An inbox gives 20 messages unless `limit` says otherwise"),
    ("check-marks-nothing", "Looking into an inbox marks nothing read"),
    ("ack", "`acknowledge_message` marks the agent's copy acknowledged; again changes nothing"),
    (
        "reply-thread",
        "A reply is in the thread of what it answers; without one the answered message's id is the thread",
    ),
    ("reply-subject", "The subject of a reply has `Re:` before it, once"),
    ("claim-answer", "`claim_paths` answers with `granted` and `conflicts`"),
    ("claim-shared", "Shared claims on one path stand beside each other; an exclusive one meets them as a conflict"),
    ("claim-ends", "A claim ends after `ttl_seconds`"),
    ("claim-artifact", "Claims are JSON files in Git, and stay there once released"),
    ("release", "`release_claims` gives back the agent's claims on the paths named"),
    ("search-newest", "`search_messages` gives the newest first, of subjects and bodies of one project"),
    ("search-syntax", 'Words, `"a phrase"`, `pre*`, `AND`, `OR`'),
    ("summary", "`summarize_thread` gives participants, key points and actions; examples with `include_examples`"),
    ("images", "Images of the body, data or paths below the project's directory, become WebP; small ones lie inline"),
    (
        "guard",
        "The guard refuses commits of what another agent holds exclusively; `AGENT_NAME` says whose a commit is",
    ),
    ("unguard", "`uninstall_precommit_guard` takes it out"),
    (
        "mail-files",
        "A message is Markdown behind `---json`, and copies of it lie in `inbox/` and `outbox/` of the agents",
    ),
    ("inbox-uri", "`resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit}`"),
    (
        "inbox-latest",
        "`resource://inbox/{agent}` without `project` is that of the project where the name was active last",
    ),
    ("message-uri", "`resource://message/{id}{?project}`; ids are global, so that `project` may always be left out"),
    ("thread-uri", "`resource://thread/{thread_id}{?project,include_bodies}`"),
    ("thread-latest", "`resource://thread/{thread_id}` without `project` is that of the project with its newest mail"),
    ("plain-post", "`tools/call` and `resources/read` are served by a plain POST to `/mcp/`, without a session"),
    ("header", "The header `X-Tool-Profile: claims` asks for the profile as the address does"),
    ("alone", "No other connection lists or can call these tools, nor reads its resources without `project`"),
)

_OTHERWISE = (
    ("granted-once", "What another agent holds exclusively is not granted beside a report of it"),
    ("intersect", "Patterns are in conflict where one path fits both, not only where they are written alike"),
    ("case", "Names are compared ignoring letter case"),
    (
        "sha256",
        "No `claims/<sha1>.json` and no `attachments/<xx>/<sha1>.webp`: the archive has our format, and SHA-256",
    ),
    (
        "tokens",
        "`create_agent` answers with a `registration_token`; under `AGENT_AUTH=strict` every other call needs one",
    ),
    ("iso", "Times of answers are ISO 8601; `since_ts` takes these too"),
    ("bounds", "Less than 60 `ttl_seconds` count as 60, more than 30 days are refused; `release_claims` wants a path"),
)

FACTS = (
    *(Fact(id=name, says=says) for name, says in _SERVED),
    *(Fact(id=name, says=says, otherwise=True) for name, says in _OTHERWISE),
)
