"""`make share`: secrets are planted in every place and would be found, a changed byte is noticed, searches are made."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.share.__main__ import Given, search_figures, to_change, verified
from benchmarks.share.looks import contents_of, left_of, marks_in, places_in, runs_of
from benchmarks.share.mail import PROJECT, SECRETS, add_one, make_mail
from benchmarks.share.searches import Search, file_server, in_node, queries
from mcp_agent_mail.features.sharing.results import SharedPreset
from tests.features.sharing.planted_secrets import FORMS, planted

_MESSAGES = SECRETS + 40


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Given:
    folder = tmp_path_factory.mktemp("share")
    root = folder / "store"
    root.mkdir()
    made = Given(root=root, folder=folder, secrets=make_mail(root, _MESSAGES))
    assert made.am("keygen", str(made.key)).code == 0
    made.export(folder / "out", SharedPreset.STANDARD)
    return made


@pytest.fixture
def bundle(given: Given, tmp_path: Path) -> Path:
    return Path(shutil.copytree(given.folder / "out", tmp_path / "out"))


def test_the_bundle_has_all_messages_with_secrets_and_no_secret(given: Given, bundle: Path) -> None:
    assert {one.form for one in given.secrets} == set(FORMS)
    assert marks_in(bundle) == SECRETS
    assert left_of(given.secrets, runs_of(contents_of(bundle))) == []
    assert places_in(bundle) == 0


def test_all_of_them_are_in_the_store_that_it_was_made_of(given: Given) -> None:
    runs = runs_of(path.read_bytes() for path in given.root.rglob("*") if path.is_file())

    left = left_of(given.secrets, runs)

    assert len(left) == SECRETS


def test_what_is_left_of_a_secret_is_found_also_where_tags_part_it() -> None:
    secret = next(iter(planted(1)))
    half = len(secret.core) // 2
    page = f"<p>{secret.core[:half]}<b>{secret.core[half:]}</b></p>".encode()

    assert left_of([secret], runs_of([secret.core[:9].encode()])) == [secret]
    assert left_of(
        [secret], runs_of([page.replace(secret.core[:half].encode(), secret.core[half - 4 : half].encode())])
    )
    assert left_of([secret], runs_of([secret.core[:8].encode()])) == []


def test_files_of_every_kind_are_changed_and_each_change_is_noticed(given: Given, bundle: Path) -> None:
    names = {path.name for path in to_change(bundle, 30)}
    figures = {one.name: one for one in verified(given, bundle, 4)}

    assert {"manifest.json", "manifest.sig"} <= names
    assert any(name.startswith("words") for name in names)
    assert [one.verdict for one in figures.values()] == ["", "met", "met", "met"]


def test_a_verify_that_notices_nothing_misses_its_bound(given: Given, bundle: Path) -> None:
    (bundle / "manifest.sig").unlink()

    figures = {one.name: one.verdict for one in verified(given, bundle, 1)}

    assert figures["verify of the bundle as it is: exit code"] == "missed"


def test_one_message_more_is_in_the_next_export(given: Given, tmp_path: Path) -> None:
    root = Path(shutil.copytree(given.root, tmp_path / "store"))
    add_one(root, _MESSAGES)

    told = Given(root=root, folder=given.folder, secrets=()).export(tmp_path / "out", SharedPreset.STRICT).told

    assert told["messages"] == _MESSAGES + 1
    assert PROJECT not in (tmp_path / "out" / "index.html").read_text()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on PATH")
def test_the_script_of_the_bundle_finds_what_was_asked(bundle: Path) -> None:
    with file_server(bundle) as address:
        one, begun, several, none = in_node(address, bundle, ["mark0007", "mark000", "mark0007 worker", "zzzzqqq"])

    assert (one.said, begun.said, several.said, none.said) == ("1 message", "10 messages", "1 message", "0 messages")
    assert one.files >= 1
    assert one.bytes > 0


def test_a_slow_search_misses_its_bound() -> None:
    seen = [Search(words="a", said="1 message", took_ms=ms, files=1, bytes=10) for ms in (5.0, 201.0)]

    verdicts = {one.name: one.verdict for one in search_figures("searches", seen)}

    assert verdicts["searches: slowest"] == "missed"
    assert len(set(queries(50))) > 40
