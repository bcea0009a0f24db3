"""The settings as data: every name we know, what it is and what it does. Standard library only.

docs/reference/settings.md and `.env.example` hold the same rows; a test compares.
"""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.addresses import is_loopback
from mcp_agent_mail.core.settings.kinds import Row, Values
from mcp_agent_mail.core.settings.rows_attachments import ATTACHMENT_ROWS
from mcp_agent_mail.core.settings.rows_coordination import LEASE_ROWS, PROJECT_ROWS, WINDOW_CLIENT_ROWS, WINDOW_ROWS
from mcp_agent_mail.core.settings.rows_delivery import DELIVERY_ROWS, HOOK_ROW
from mcp_agent_mail.core.settings.rows_doors import DOOR_CLIENT_ROWS, DOOR_ROWS
from mcp_agent_mail.core.settings.rows_edge import EDGE_ROWS, JWT_ROWS, RATE_ROWS, ROLE_ROWS
from mcp_agent_mail.core.settings.rows_llm import LLM_ROWS
from mcp_agent_mail.core.settings.rows_server import LOG_ROWS, SURFACE_ROWS, WATCHING_ROWS
from mcp_agent_mail.core.settings.rows_upkeep import UPKEEP_ROWS


def _allowed_hosts(values: Values) -> tuple[str, ...]:
    return tuple(dict.fromkeys(["localhost", "127.0.0.1", "::1", str(values["HTTP_HOST"])]))


def _agent_auth(values: Values) -> str:
    is_local = all(is_loopback(str(values[name])) for name in ("HTTP_HOST", "FACADES_HOST"))
    return "open" if is_local else "strict"


def _database_url(values: Values) -> str:
    return f"sqlite:///{values['STORAGE_ROOT']}/mail.sqlite3"


_STORE = (
    Row(
        name="APP_ENVIRONMENT",
        kind=kinds.WORD,
        default="development",
        does="A label that `health_check` and `config/environment` show. It switches nothing.",
        group="Store and process",
    ),
    Row(
        name="STORAGE_ROOT",
        kind=kinds.FOLDER,
        default="~/.mcp_agent_mail",
        does="Where everything is kept: the database, the archives, the lock.",
        group="Store and process",
        client=True,
    ),
    Row(
        name="DATABASE_URL",
        kind=kinds.SQLITE,
        default="STORAGE_ROOT/mail.sqlite3",
        computed=_database_url,
        does="The database file, if it is to lie elsewhere. It is locked there too.",
        group="Store and process",
    ),
    Row(
        name="DATABASE_ECHO",
        kind=kinds.BOOL,
        default="false",
        does="Log every SQL statement, without its values.",
        group="Store and process",
    ),
    Row(
        name="SHUTDOWN_TIMEOUT_SECONDS",
        kind=kinds.whole(1, 600),
        default="8",
        does="How long a stop may take to finish calls and drain the queues.",
        group="Store and process",
    ),
    Row(
        name="STORE_MAX_BYTES",
        kind=kinds.size("1MiB", "1000000GiB"),
        default="20GiB",
        does="What everything below STORAGE_ROOT may take. Beyond it whatever adds to it is QUOTA_EXCEEDED.",
        group="Store and process",
    ),
    Row(
        name="STORE_MIN_FREE_BYTES",
        kind=kinds.size("0", "1000000GiB"),
        default="512MiB",
        does="What is to stay free on the disk of STORAGE_ROOT. With less, whatever adds to the store is UNAVAILABLE; "
        "0 is no limit.",
        group="Store and process",
    ),
    Row(
        name="TEST_FIXTURES_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="For protocol testers only: serve the tools, resources and prompts that their scenarios call. On loopback "
        "only.",
        group="Store and process",
    ),
)

_HTTP = (
    Row(
        name="HTTP_HOST",
        kind=kinds.ADDRESS,
        default="127.0.0.1",
        does="The address to listen on. Beyond loopback HTTP_BEARER_TOKEN or HTTP_JWT_ENABLED is required.",
        group="HTTP",
        client=True,
    ),
    Row(
        name="HTTP_PORT",
        kind=kinds.whole(0, 65535),
        default="8765",
        does="The port. 0 takes any free one and prints it.",
        group="HTTP",
        client=True,
    ),
    Row(
        name="HTTP_PATH",
        kind=kinds.URL_PATH,
        default="/mcp",
        does="One more path for MCP; /mcp and /api always answer.",
        group="HTTP",
        client=True,
    ),
    Row(
        name="HTTP_ALLOWED_HOSTS",
        kind=kinds.HOSTS,
        default="localhost,127.0.0.1,::1 and HTTP_HOST",
        computed=_allowed_hosts,
        does="The Host headers that are answered, beside loopback names and HTTP_HOST.",
        group="HTTP",
    ),
    Row(
        name="HTTP_REQUEST_LOG_ENABLED",
        kind=kinds.BOOL,
        default="false",
        does="Log a line per request, never a body.",
        group="HTTP",
    ),
    Row(
        name="HTTP_FAST_PATH_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Answer calls of known tools past FastMCP. The answers are the same: `false` is for finding out.",
        group="HTTP",
    ),
    Row(
        name="WEB_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Serve the pages for people at /mail.",
        group="HTTP",
    ),
)

_CALLERS = (
    Row(
        name="AGENT_AUTH",
        kind=kinds.one_of("open", "strict"),
        default="open on loopback, else strict",
        computed=_agent_auth,
        does="`open` takes agents' names at their word and says so; `strict` wants an agent's token for every act.",
        group="Who calls",
    ),
    Row(
        name="PROJECT_ADMISSION",
        kind=kinds.one_of("open", "member", "operator"),
        default="open",
        does="Who lets a new name into a project that has agents: `open` anybody, `member` one of its agents, "
        "`operator` you. A join code (`am projects invite`) opens each.",
        group="Who calls",
    ),
    Row(
        name="HTTP_BEARER_TOKEN",
        kind=kinds.SECRET,
        default="",
        does="A token that every request must carry. Fewer than 16 characters give a warning.",
        group="Who calls",
    ),
    Row(
        name="HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED",
        kind=kinds.BOOL,
        default="false",
        does="Let requests from this machine in without HTTP_BEARER_TOKEN.",
        group="Who calls",
    ),
)

_ARCHIVE = (
    Row(
        name="GIT_AUTHOR_NAME",
        kind=kinds.GIT_IDENTITY,
        default="mcp-agent",
        does="The author of archive commits that hold several agents' work.",
        group="Archive",
    ),
    Row(
        name="GIT_AUTHOR_EMAIL",
        kind=kinds.GIT_IDENTITY,
        default="mcp-agent@example.com",
        does="The author's address of archive commits.",
        group="Archive",
    ),
    Row(
        name="ARCHIVE_COMMIT_INTERVAL_MS",
        kind=kinds.whole(50, 60_000),
        default="500",
        does="How long an event may wait for its Git commit.",
        group="Archive",
    ),
    Row(
        name="ARCHIVE_LOCATION",
        kind=kinds.one_of("store", "workspace"),
        default="store",
        does="Where archives are begun: `store` below STORAGE_ROOT, `workspace` in `<project>/.mcp-mail/`, where the "
        "project's directory exists. One that is there stays where it is.",
        group="Archive",
    ),
    Row(
        name="ARCHIVE_MAX_TRACKED_FILES",
        kind=kinds.whole(1_000, 1_000_000),
        default="100000",
        does="Beyond so many files an archive's folder shows only the current and the previous month; Git has all.",
        group="Archive",
    ),
)

_MAIL = (
    Row(
        name="AGENT_NAME_ENFORCEMENT_MODE",
        kind=kinds.one_of("free", "coerce", "strict", "always_auto"),
        default="free",
        does="Which names agents may have: `free` any, `coerce` replaces what is not adjective+noun and says so, "
        "`strict` refuses it, `always_auto` generates every name.",
        group="Names and mail",
    ),
    Row(
        name="MESSAGE_BODY_MAX_BYTES",
        kind=kinds.size("1KiB", "3MiB"),
        default="1MiB",
        does="The longest body; a longer one is INVALID_INPUT.",
        group="Names and mail",
    ),
    Row(
        name="CONTACT_ENFORCEMENT_ENABLED",
        kind=kinds.BOOL,
        default="true",
        does="Hold senders to their recipients' contact policies. `false` leaves only `block_all`.",
        group="Names and mail",
    ),
    Row(
        name="CONTACT_AUTO_SCOPE",
        kind=kinds.one_of("project", "context"),
        default="project",
        does="Whom the contact policy `auto` lets in: `project` all agents of the same project, `context` those who "
        "share a thread, overlapping reservations or recent mail with the recipient.",
        group="Names and mail",
    ),
    Row(
        name="CONTACT_AUTO_TTL_SECONDS",
        kind=kinds.whole(60, 31_536_000),
        default="86400",
        does="How long mail in both directions counts as recent, with CONTACT_AUTO_SCOPE=context.",
        group="Names and mail",
    ),
    Row(
        name="MESSAGING_AUTO_HANDSHAKE_ON_BLOCK",
        kind=kinds.BOOL,
        default="true",
        does="Hold mail that needs its recipient's consent and ask for it, where a call does not say. Nothing is "
        "approved by itself.",
        group="Names and mail",
    ),
)

_CLIENT = (
    Row(
        name="AGENT_MAIL_ENV_FILE",
        kind=kinds.FILE,
        default="",
        does="The `.env` file to read, from the environment only. `/dev/null` reads none.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_URL",
        kind=kinds.URL,
        default="",
        does="The server to talk to. Else the one that holds the store's lock, else HTTP_HOST, HTTP_PORT, HTTP_PATH.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_TOKEN",
        kind=kinds.SECRET,
        default="",
        does="Sent to the server as `Authorization: Bearer`.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_AGENT_TOKEN",
        kind=kinds.SECRET,
        default="",
        does="The acting agent's own token, sent as `X-Agent-Token`.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_PROJECT",
        kind=kinds.PATH_OR_SLUG,
        said=True,
        default="",
        does="The project. Else Git's `agent-mail.project`, else the Git top level, else the current folder.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_NAME",
        kind=kinds.AGENT_NAME,
        said=True,
        default="",
        does="Who acts. Else Git's `agent-mail.name`, else GIT_AUTHOR_NAME if that is an agent.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_GUARD_MODE",
        kind=kinds.one_of("block", "warn", synonyms={"advisory": "warn", "adv": "warn"}),
        default="block",
        does="What the guard does about a path that another agent holds: `block` the commit or push, or `warn` "
        "(also `advisory`, `adv`) and let it pass.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_GUARD_REQUIRE_NAME",
        kind=kinds.YES_NO_AUTO,
        default="auto",
        does="Whose commits and pushes the guard refuses when they do not say which agent makes them: everybody's "
        "(`true`), nobody's (`false`), or, with `auto`, those from an agent's shell.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_GUARD_ON_ERROR",
        kind=kinds.one_of("warn", "block"),
        default="warn",
        does="What the guard does when it cannot find out who holds what: `warn` and let pass, or `block`.",
        group="Client side",
        client=True,
    ),
    Row(
        name="AGENT_MAIL_BYPASS",
        kind=kinds.BOOL,
        default="false",
        does="Let a commit or push pass whatever the guard says. It is recorded.",
        group="Client side",
        client=True,
    ),
)

ROWS: tuple[Row, ...] = (
    *_STORE,
    *_HTTP,
    *EDGE_ROWS,
    *DOOR_ROWS,
    *_CALLERS,
    *ROLE_ROWS,
    *JWT_ROWS,
    *RATE_ROWS,
    *PROJECT_ROWS,
    *WINDOW_ROWS,
    *_ARCHIVE,
    *_MAIL,
    *ATTACHMENT_ROWS,
    *LEASE_ROWS,
    *DELIVERY_ROWS,
    *UPKEEP_ROWS,
    *SURFACE_ROWS,
    *LLM_ROWS,
    *LOG_ROWS,
    *WATCHING_ROWS,
    *_CLIENT,
    HOOK_ROW,
    *WINDOW_CLIENT_ROWS,
    *DOOR_CLIENT_ROWS,
)
CLIENT_ROWS: tuple[Row, ...] = tuple(row for row in ROWS if row.client)
