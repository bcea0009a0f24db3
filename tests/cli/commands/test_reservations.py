from __future__ import annotations

from tests.cli.conftest import Post
from tests.cli.scripted_server import ScriptedServer, answer
from tests.cli.shell import Shell


def test_active_reservations_are_the_resource(at_leases: Shell, post: Post) -> None:
    listed = at_leases.am("reservations", "active", "--json").json()

    with post.server.connect() as connection:
        assert listed == connection.call("read_resource", uri="resource://file_reservations/%2Fcode%2Fleases")
    assert [lease["path_pattern"] for lease in listed] == ["src/**", "README.md"]


def test_a_piped_reservation_is_a_line_of_cells(at_leases: Shell) -> None:
    listed = at_leases.am("reservations", "active").lines()

    assert [(line[1], line[2], line[3], line[6]) for line in listed] == [
        ("BlueLake", "src/**", "exclusive", ""),
        ("BlueLake", "README.md", "exclusive", ""),
    ]


def test_a_holder_that_does_nothing_is_told_as_idle(shell: Shell) -> None:
    lease = {"id": 1, "exclusive": False, "expires_ts": "", "released_ts": None, "reason": ""}
    rows = [
        {**lease, "agent": agent, "path_pattern": agent, "stale": stale} for agent, stale in (("A", True), ("B", False))
    ]
    with ScriptedServer(answer(rows)) as server:
        shell.set(AGENT_MAIL_URL=server.url)
        listed = shell.am("reservations", "list", "--project", "x").lines()

    assert [(line[1], line[3], line[6]) for line in listed] == [("A", "shared", "idle"), ("B", "shared", "")]


def test_what_expires_soon_is_listed_alone(at_leases: Shell) -> None:
    soon = at_leases.am("reservations", "soon", "--minutes", "30", "--json").json()
    later = at_leases.am("reservations", "soon", "--minutes", "180", "--json").json()

    assert [lease["path_pattern"] for lease in soon] == ["src/**"]
    assert len(later) == 2


def test_a_project_without_reservations_has_none(at_post: Shell, post: Post) -> None:
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key="/code/unreserved")

    done = at_post.am("reservations", "list", "--json", "--project", "/code/unreserved")

    assert (done.code, done.json()) == (0, [])


def test_reservations_beyond_a_page_are_listed_all(at_post: Shell, post: Post) -> None:
    many = {"project_key": "/code/many", "agent_name": "BlueLake"}
    with post.server.connect() as connection:
        connection.call("ensure_project", human_key="/code/many")
        for name in ("BlueLake", "RedStone"):
            connection.call("register_agent", project_key="/code/many", program="tests", model="none", name=name)
        for batch in range(5):
            paths = [f"src/{batch}/{number}.py" for number in range(200)]
            connection.call("file_reservation_paths", **many, paths=paths)

        a_page = at_post.am("reservations", "active", "--project", "/code/many").lines()
        connection.call("file_reservation_paths", **(many | {"agent_name": "RedStone", "paths": ["one/more.py"]}))
        more = at_post.am("reservations", "active", "--project", "/code/many").lines()

    assert len(a_page) == 1_000
    assert [line[2] for line in more] == [*(line[2] for line in a_page), "one/more.py"]


def test_a_released_reservation_is_told_to_its_holder_and_stays_in_the_list(at_leases: Shell, post: Post) -> None:
    gray = {"project_key": "/code/leases", "agent_name": "GrayFox"}
    with post.server.connect() as connection:
        (granted,) = connection.call("file_reservation_paths", **gray, paths=["docs/**"])["granted"]

        answer = at_leases.am("reservations", "release", str(granted["id"]), "--note", "Docs are mine.", "--json")

        inbox = connection.call("fetch_inbox", **gray, include_bodies=True)
    assert answer.json()["released"] == 1
    assert inbox[0]["subject"] == f"Your reservation {granted['id']} was released"
    assert inbox[0]["body_md"].endswith("Reserve it again before you edit.\n\nDocs are mine.")
    assert "`docs/**`" in inbox[0]["body_md"]
    assert "docs/**" not in at_leases.am("reservations", "active").out
    assert "docs/**" in [line[2] for line in at_leases.am("reservations", "list").lines()]


def test_without_a_note_the_holder_is_told_the_fact_alone(at_leases: Shell, post: Post) -> None:
    gray = {"project_key": "/code/leases", "agent_name": "GrayFox"}
    with post.server.connect() as connection:
        (granted,) = connection.call("file_reservation_paths", **gray, paths=["tools/**"])["granted"]

        answer = at_leases.am("reservations", "release", str(granted["id"]))

        inbox = connection.call("fetch_inbox", **gray, include_bodies=True)
    assert answer.lines()[:3] == [["released", "1"], ["pattern", "tools/**"], ["holder", "GrayFox"]]
    assert inbox[0]["body_md"].endswith("Reserve it again before you edit.")


def test_a_reservation_that_there_is_not_is_an_error_with_the_next_step(at_leases: Shell, post: Post) -> None:
    with post.server.connect() as connection:
        gray = {"project_key": "/code/leases", "agent_name": "GrayFox"}
        (ended,) = connection.call("file_reservation_paths", **gray, paths=["old/**"])["granted"]
        connection.call("file_reservation_paths", **gray, paths=["newer/**"])
        connection.call("release_file_reservations", **gray)

    never = at_leases.am("reservations", "release", "99999")
    over = at_leases.am("reservations", "release", str(ended["id"]))

    assert (never.code, over.code) == (1, 1)
    assert never.err.startswith("Error (NOT_FOUND): /code/leases has no live reservation 99999.")
    assert "am reservations active" in over.err
