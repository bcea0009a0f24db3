"""Who a session is: what says so, in which order, and what of a tool's result is believed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.hook.environment import HookSettings
from mcp_agent_mail.clients.hook.identity import find_hook_identity, look_at_git, project_of_here, registered
from mcp_agent_mail.clients.hook.payload import HookPayload
from mcp_agent_mail.domain.projects import slugs_of
from mcp_agent_mail.guard.repository import NAME_KEY, PROJECT_KEY, find_values

AGENT = {"id": 3, "name": "GreenHill", "program": "p", "model": "m", "task_description": "t"}
STARTED = {
    "project": {"id": 1, "slug": "app-1", "human_key": "/code/app"},
    "agent": AGENT,
    "peers": [{"name": "Other"}],
}


def _git(*arguments: str, cwd: Path, home: Path) -> None:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=cwd, env=environ, check=True, capture_output=True)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    (root / "code").mkdir()
    _git("init", "-q", ".", cwd=root / "code", home=root)
    return root / "code"


def _identity(code: Path, state: dict[str, Any] | None = None, **environ: str) -> tuple[str | None, str]:
    settings = {"HOME": str(code.parent), **environ}
    identity = find_hook_identity(HookSettings(settings), state or {}, str(code), settings)
    return identity.agent, identity.project


def test_the_order_of_who_is_the_environment_the_session_and_git(code: Path) -> None:
    bound = {"agent": "GreenHill", "project": "/elsewhere"}
    nobody = _identity(code)
    _git("config", "agent-mail.name", "RedStone", cwd=code, home=code.parent)

    assert nobody == (None, str(code))
    assert _identity(code) == ("RedStone", str(code))
    assert _identity(code, bound) == ("GreenHill", "/elsewhere")
    assert _identity(code, bound, AGENT_NAME="BlueLake") == ("BlueLake", str(code))
    assert _identity(code, bound, AGENT_MAIL_PROJECT="slug-1") == ("GreenHill", "slug-1")


def test_the_order_of_where_is_the_environment_git_and_the_top(code: Path) -> None:
    (code / "src").mkdir()
    top = _identity(code / "src", HOME=str(code.parent))
    _git("config", "agent-mail.project", "/code/app", cwd=code, home=code.parent)

    assert top == (None, str(code))
    assert _identity(code / "src", HOME=str(code.parent))[1] == "/code/app"
    assert _identity(code, AGENT_MAIL_PROJECT="/mine")[1] == "/mine"


def test_outside_of_a_repository_the_folder_is_the_project(tmp_path: Path) -> None:
    assert _identity(tmp_path.resolve(), HOME="/nowhere")[1] == str(tmp_path.resolve())


@pytest.mark.parametrize("name", [None, 3, "", "two words", "x" * 65, "1st"])
def test_a_name_that_nobody_can_have_is_none(name: Any, code: Path) -> None:
    assert _identity(code, {"agent": name, "project": "/p"})[0] is None


@pytest.mark.parametrize("project", ["/a\0b", "", 5, "/" + "x" * 5_000])
def test_a_project_that_no_path_can_be_is_none(project: Any, code: Path) -> None:
    assert _identity(code, {"agent": "GreenHill", "project": project}) == ("GreenHill", str(code))


# --- Git's word, as Git itself says it ---


def _same_as_git(code: Path, home: Path) -> dict[str, str]:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CONFIG_NOSYSTEM": "1"}
    _, found = look_at_git(str(code), environ)
    asked = find_values(environ, str(code))
    git = {"name": asked.get(NAME_KEY), "project": asked.get(PROJECT_KEY)}
    assert found == {key: value for key, value in git.items() if value}
    return found


def test_the_repositorys_word_comes_before_the_users(code: Path) -> None:
    home = code.parent
    _git("config", "--global", "agent-mail.name", "Global", cwd=code, home=home)
    users = _same_as_git(code, home)
    _git("config", "agent-mail.name", "Local", cwd=code, home=home)

    assert users == {"name": "Global"}
    assert _same_as_git(code, home) == {"name": "Local"}


def test_a_linked_work_tree_has_a_name_of_its_own_and_the_common_project(code: Path) -> None:
    home = code.parent
    for line in ("user.name Grace", "user.email g@example.com", "agent-mail.project /code/app", "agent-mail.name Main"):
        _git("config", *line.split(), cwd=code, home=home)
    _git("commit", "-q", "--allow-empty", "-m", "x", cwd=code, home=home)
    _git("worktree", "add", "-q", "../linked", cwd=code, home=home)
    linked = home / "linked"
    shared = _same_as_git(linked, home)
    _git("config", "extensions.worktreeConfig", "true", cwd=code, home=home)
    _git("config", "--worktree", "agent-mail.name", "Linked", cwd=linked, home=home)

    assert shared == {"name": "Main", "project": "/code/app"}
    assert _same_as_git(linked, home) == {"name": "Linked", "project": "/code/app"}
    assert _same_as_git(code, home) == {"name": "Main", "project": "/code/app"}
    assert look_at_git(str(linked), {"HOME": str(home)})[0] == str(linked)


@pytest.mark.parametrize(
    "section",
    [
        '[agent-mail]\n\tname = "Quoted"\n',
        "[agent-mail] name = Beside\n",
        "[Agent-Mail]\n\tNAME=Loud ; a comment\n",
        "[agent-mail]\n\tname = Two\\\nLines\n",
        "[agent-mail]\n\tname = First\n\tname = Last\n[core]\n\tx = 1\n[agent-mail]\n\tproject = /p\n",
        '[agent-mail "sub"]\n\tname = Sub\n',
        "[agent-mail]\n\tproject\n\tname = Set\n",
        "# [agent-mail]\n# name = Comment\n",
        "[agent-mail]\n# name = Comment\n\tname =\n",
    ],
)
def test_sections_written_by_hand_are_read_as_git_reads_them(section: str, code: Path) -> None:
    with (code / ".git" / "config").open("a") as config:
        config.write(section)

    _same_as_git(code, code.parent)


def test_a_configuration_that_is_broken_or_endless_says_nothing(code: Path) -> None:
    config = code / ".git" / "config"
    config.write_text("[agent-mail\nname = x\n[agent-mail]\n = \n")
    assert look_at_git(str(code), {"HOME": str(code.parent)})[1] == {}

    config.write_text("[agent-mail]\n\tname = Late\n" + "#" * (1024 * 1024))
    assert look_at_git(str(code), {"HOME": str(code.parent)})[1] == {}


@contextmanager
def _soon() -> Iterator[None]:
    """Fails what takes longer than anything that looks once at each character."""

    def over(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, 10.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "line",
    [
        f'name = {" " * 200_000}"',
        f"name{' ' * 200_000}x",
        f'{" " * 200_000}name = x"',
        f"project = /{'a/' * 200_000}",
        f"project = x{' ' * 200_000}\r\rx",
    ],
)
def test_a_line_of_a_configuration_takes_no_longer_than_it_is_long(line: str, code: Path) -> None:
    with (code / ".git" / "config").open("a") as config:
        config.write(f"[agent-mail]\n\t{line}\n")

    with _soon():
        assert _identity(code) == (None, str(code))


# --- Registrations ---


def _call(client: str, tool: str, arguments: Any, result: Any) -> tuple[str, str | None] | None:
    contract = read_contract(client)
    told: dict[str, Any] = {}
    how = contract["mcp_tool"]
    if how["pattern"] is not None:
        name = how["pattern"].replace("{server}", "agent-mail").replace("{tool}", tool)
        places = [(contract["tool"][0], name), (contract["input"][0], arguments)]
    else:
        places = [(how["server"][0], "agent-mail"), (how["tool"][0], tool), (how["arguments"][0], arguments)]
    for place, value in [*places, (contract["result"][0], result)]:
        into = told
        for key in place[:-1]:
            into = into.setdefault(key, {})
        into[place[-1]] = value
    found = registered(contract, HookPayload(contract, told))
    return None if found is None else (found[0], found[1][0])


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_lets_its_registration_be_seen(client: str) -> None:
    assert _call(client, "register_agent", {"project_key": "/p"}, AGENT) == ("GreenHill", "/p")
    assert _call(client, "macro_start_session", {"human_key": "/x"}, STARTED) == ("GreenHill", "/code/app")
    assert _call(client, "send_message", {"project_key": "/p"}, AGENT) is None


@pytest.mark.parametrize(
    "result",
    [
        json.dumps(AGENT),
        [{"type": "text", "text": json.dumps(AGENT)}],
        {"content": [{"type": "text", "text": json.dumps(AGENT)}], "isError": False},
        {"structuredContent": AGENT, "content": []},
        json.dumps({"content": [{"type": "text", "text": json.dumps(AGENT)}]}),
        "id: 3\nname: GreenHill\nprogram: p\n",
        "- **name**: GreenHill\n",
    ],
)
def test_a_result_is_found_however_it_is_wrapped(result: Any) -> None:
    assert _call("claude", "register_agent", {"project_key": "/p", "name": "GreenHill"}, result) == ("GreenHill", "/p")


@pytest.mark.parametrize(
    "result",
    [
        None,
        "",
        "name: Somebody\n",
        {"error": {"type": "NAME_TAKEN", "data": AGENT}},
        {"isError": True, "content": [{"type": "text", "text": json.dumps(AGENT)}]},
        [{"error": {"type": "NAME_TAKEN"}}, {"type": "text", "text": json.dumps(AGENT)}],
        {"name": "GreenHill"},
        {"name": "two words", "program": "p", "model": "m"},
        [[[[[[]]]]]] * 100,
        "[" * 5_000,
    ],
)
def test_what_is_no_registration_binds_nobody(result: Any) -> None:
    assert _call("claude", "register_agent", {"project_key": "/p", "name": "GreenHill"}, result) is None


@pytest.mark.parametrize("tool", ["mcp__other__register_agent", "register_agent", "mcp__agent-mail__whois", ""])
def test_another_servers_tools_bind_nobody(tool: str) -> None:
    contract = read_contract("claude")
    value = {"tool_name": tool, "tool_input": {}, "tool_response": AGENT}

    assert registered(contract, HookPayload(contract, value)) is None


def _here(folder: Path, *keys: str, **environ: str) -> str | None:
    settings = {"HOME": str(folder.parent), **environ}
    return project_of_here(list(keys), HookSettings(settings), str(folder), settings)


def test_a_registration_binds_in_the_project_of_its_work_tree_alone(code: Path) -> None:
    (code / "src").mkdir()
    slug = slugs_of(str(code))[0]
    for key in (str(code), f"{code}/", str(code / "packages"), slug):
        assert _here(code / "src", key) == key
    for key in ("/elsewhere", str(code.parent), f"{code}2", "/", "app-1", f"{code}/../other"):
        assert _here(code, key) is None

    assert _here(code, "/elsewhere", str(code)) == str(code)
    assert _here(code, "/elsewhere", AGENT_MAIL_PROJECT="/elsewhere") == "/elsewhere"
    assert _here(code, "app-1", AGENT_MAIL_PROJECT="app-1") == "app-1"
    _git("config", "agent-mail.project", "app-2", cwd=code, home=code.parent)
    assert _here(code, "app-2") == "app-2"


def test_without_a_work_tree_a_registration_binds_in_the_folder_itself_alone(tmp_path: Path) -> None:
    """From the root of the disk everything would be below, from ~/src each project in it."""
    base = tmp_path.resolve()
    (base / "src" / "secret").mkdir(parents=True)

    assert _here(base / "src", str(base / "src")) == str(base / "src")
    assert _here(base / "src", str(base / "src" / "secret")) is None
    assert _here(base / "src", slugs_of(str(base / "src" / "secret"))[0]) is None
    assert _here(Path("/"), "/etc") is None
    assert _here(Path("/"), "/") == "/"


def test_a_repository_within_the_work_tree_is_a_project_of_its_own(code: Path) -> None:
    inner = code / "vendor" / "secret"
    (inner / "src").mkdir(parents=True)
    _git("init", "-q", ".", cwd=inner, home=code.parent)

    assert [_here(code, str(path)) for path in (inner, inner / "src")] == [None, None]
    assert _here(code, str(code / "vendor")) == str(code / "vendor")
    assert _here(inner, str(inner / "src")) == str(inner / "src")
    assert _here(inner, str(code)) is None


def test_a_pointer_that_a_stranger_wrote_leads_into_no_main_work_tree(code: Path) -> None:
    """It is a linked one's only where the main repository knows it."""
    unpacked = code.parent / "unpacked"
    (unpacked / "fake").mkdir(parents=True)
    (unpacked / ".git").write_text("gitdir: fake\n")
    (unpacked / "fake" / "commondir").write_text(f"{code}/.git\n")
    (unpacked / "fake" / "gitdir").write_text(f"{unpacked}/.git\n")

    assert _here(unpacked, str(code)) is None


OTHER = 4711


def _give_away(patch: pytest.MonkeyPatch, *paths: Path) -> None:
    """To another user who is not root."""
    if os.geteuid() == 0:
        for path in paths:
            os.chown(path, OTHER, OTHER, follow_symlinks=False)
    else:
        patch.setattr(os, "geteuid", lambda: OTHER)


def _worded(code: Path) -> list[Path]:
    _git("config", "agent-mail.project", "/victim", cwd=code, home=code.parent)
    _git("config", "agent-mail.name", "RedStone", cwd=code, home=code.parent)
    return [code, code / ".git", code / ".git" / "config"]


@pytest.mark.parametrize("whose", [slice(0, 3), slice(1, 3), slice(2, 3)], ids=["all", "git", "config"])
def test_what_another_user_configures_says_nothing(whose: slice, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Git itself has it."""
    places = _worded(code)
    told = look_at_git(str(code), {"HOME": "/nowhere"})
    _give_away(monkeypatch, *places[whose])

    assert told == (str(code), {"project": "/victim", "name": "RedStone"})
    assert look_at_git(str(code), {"HOME": "/nowhere"})[1] == {}
    assert find_values({"HOME": "/nowhere", "PATH": os.environ["PATH"]}, str(code)) == {}
    assert _here(code, "/victim") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_repository_that_anybody_planted_above_decides_nothing(
    kind: str, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that all may write to, as `/tmp`."""
    work = code.parent / "open" / "work"
    work.mkdir(parents=True)
    planted = work.parent / ".git"
    places = _worded(code)
    if kind == "folder":
        (code / ".git").rename(planted)
        places = [planted, planted / "config"]
    elif kind == "file":
        planted.write_text(f"gitdir: {code}/.git\n")
        places = [planted]
    else:
        planted.symlink_to(code / ".git")
        places = [planted]
    _give_away(monkeypatch, *places)

    assert look_at_git(str(work), {"HOME": "/nowhere"}) == (None, {})
    assert _here(work, str(work)) == str(work)
    assert _here(work, str(work.parent)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_work_tree_of_another_user_is_still_where_the_session_works(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _give_away(monkeypatch, *_worded(code))

    assert look_at_git(str(code), {"HOME": "/nowhere"}) == (str(code), {})
    assert look_at_git(str(code), {"HOME": "/nowhere", "SUDO_UID": str(OTHER)})[1]["name"] == "RedStone"
    assert _here(code, str(code)) == str(code)


def test_in_a_linked_work_tree_the_main_ones_project_is_its_too(code: Path) -> None:
    home = code.parent
    for line in ("user.name Grace", "user.email g@example.com"):
        _git("config", *line.split(), cwd=code, home=home)
    _git("commit", "-q", "--allow-empty", "-m", "x", cwd=code, home=home)
    _git("worktree", "add", "-q", "../linked", cwd=code, home=home)

    assert _here(home / "linked", str(code)) == str(code)
    assert _here(home / "linked", "/elsewhere", str(home / "linked")) == str(home / "linked")
    assert _here(home / "linked", str(home)) is None


@pytest.mark.parametrize("words", [f"name{':' * 200_000}", f"{'*' * 200_000}", "name: : " * 30_000])
def test_what_a_tool_says_takes_no_longer_than_it_is_long(words: str) -> None:
    with _soon():
        assert _call("claude", "register_agent", {"name": "GreenHill"}, words) is None
