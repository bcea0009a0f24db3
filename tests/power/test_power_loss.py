"""Loss of power, simulated: whatever a disk may forget or tear, nothing that was answered is lost.

`kill -9` cannot show this, since what was written survives it in the kernel's memory. Here a
recorded run says what was written and what was synced, and each loss is one store that a disk may
have left: examined like the stores of the kill rounds.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.archive import writer
from tests.power.care import faults_of_cared_for
from tests.power.contents import faults_of_contents
from tests.power.disk import Disk
from tests.power.examine import examine, examine_with_a_server
from tests.power.log import read_log
from tests.power.losses import Loss, choose_losses, record_of, simulate
from tests.power.migrations import faults_of_migrated
from tests.power.recorder import (
    Recording,
    build_shim,
    no_recorder,
    record_care,
    record_contents,
    record_migrations,
    record_recovery,
    record_run,
    record_swaps,
)
from tests.power.swaps import faults_of_swapped

RUNS = 3
LOSSES_OF_A_RUN = 40
LOSSES_WITHOUT_A_GUARD = 30
LOSSES_WHILE_MIGRATING = 60
CARE_RUNS = 2
LOSSES_WHILE_KEEPING = 200
LOSSES_WHILE_SWAPPING = 100
LOSSES_OF_CARE = 30
LOSSES_MENDED = 4
LOSSES_WHILE_MENDING = 8
REAL_STARTS = 4
LOSSES_IN_EVERY_TEST_RUN = 4
SEED = 20_261_121
NOT_STATE = "mail.sqlite3-shm"  # in any folder: SQLite writes it through memory and makes it anew at a start

pytestmark = pytest.mark.skipif(no_recorder() is not None, reason=str(no_recorder()))


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shim(tmp_path_factory.mktemp("shim"))


def record(tmp_path: Path, shim: Path, *, seed: int, without: str = "") -> Recording:
    folder = tmp_path / f"run-{seed}"
    folder.mkdir()
    return record_run(folder, shim, seed=seed, without=without)


def faults_of(recording: Recording, losses: list[Loss], folder: Path) -> dict[Loss, list[str]]:
    """The losses that leave something wrong, and what."""
    found = {}
    for loss, root, answered in simulate(recording, losses, folder):
        if faults := examine(root, record_of(answered)):
            found[loss] = faults
        shutil.rmtree(root.parent)
    return found


def test_a_few_losses_of_power_lose_nothing(tmp_path: Path, shim: Path) -> None:
    recording = record(tmp_path, shim, seed=SEED)
    assert replayed(recording) == on_disk(recording.root), "the recorder saw everything"
    losses = choose_losses(recording, LOSSES_IN_EVERY_TEST_RUN, SEED)

    assert faults_of(recording, losses, tmp_path / "losses") == {}


def replayed(recording: Recording) -> dict[str, bytes]:
    """What the log makes of an empty disk that loses nothing."""
    disk = Disk()
    disk.load(recording.before, recording.inodes)
    for entry in read_log(recording.log, recording.root):
        disk.feed(entry)
    return {path: content for path, content in disk.live_files().items() if not path.endswith(NOT_STATE)}


def on_disk(root: Path) -> dict[str, bytes]:
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if not name.endswith(NOT_STATE)}


@pytest.mark.crash
@pytest.mark.parametrize("run", range(RUNS))
def test_a_loss_of_power_at_any_instant_loses_nothing(run: int, tmp_path: Path, shim: Path) -> None:
    recording = record(tmp_path, shim, seed=SEED + 10 * run)
    assert replayed(recording) == on_disk(recording.root), "the recorder saw everything"
    losses = choose_losses(recording, LOSSES_OF_A_RUN, SEED + 1_000 * run)

    faults = faults_of(recording, losses, tmp_path / "losses")

    assert {str(loss): found[:5] for loss, found in faults.items()} == {}
    print(f"run {run + 1}: {len(losses)} losses of power, nothing lost")  # noqa: T201  # for a person


@pytest.mark.crash
def test_a_server_starts_on_what_a_loss_of_power_left(tmp_path: Path, shim: Path) -> None:
    recording = record(tmp_path, shim, seed=SEED + 100)
    losses = choose_losses(recording, REAL_STARTS, SEED + 9_000)

    found = {
        str(loss): faults
        for loss, root, answered in simulate(recording, losses, tmp_path / "losses")
        if (faults := examine_with_a_server(root, record_of(answered)))
    }

    assert found == {}


@pytest.mark.crash
def test_a_loss_of_power_while_an_earlier_one_is_mended_loses_nothing(tmp_path: Path, shim: Path) -> None:
    first = record(tmp_path, shim, seed=SEED + 200)
    losses = choose_losses(first, LOSSES_MENDED, SEED + 7_000)
    for number, (loss, left, answers) in enumerate(simulate(first, losses, tmp_path / "losses")):
        folder = tmp_path / f"mended-{number}"
        folder.mkdir()
        recovery = record_recovery(folder, shim, left)
        assert replayed(recovery) == on_disk(recovery.root), "the recorder saw everything"
        answered = record_of(answers)
        again = choose_losses(recovery, LOSSES_WHILE_MENDING, SEED + number)

        found = {
            f"{loss}, then {second}": faults
            for second, root, _ in simulate(recovery, again, folder / "losses")
            if (faults := examine(root, answered))
        }

        assert found == {}
    print(f"mending {len(losses)} losses: {LOSSES_WHILE_MENDING} more during each, nothing lost")  # noqa: T201


@pytest.mark.crash
@pytest.mark.parametrize(
    "guard",
    [
        "synchronous-full-but-normal",
        "synchronous-full-but-off",
        "sync-of-the-ref",
        "sync-of-the-folders",
        "sync-of-the-files",
    ],
)
def test_with_a_guard_taken_out_the_check_fails(guard: str, tmp_path: Path, shim: Path) -> None:
    """The proof of the proof: each sync is there for a reason, and its absence is seen."""
    recording = record(tmp_path, shim, seed=SEED, without=guard)
    losses = choose_losses(recording, LOSSES_WITHOUT_A_GUARD, SEED)

    faults = faults_of(recording, losses, tmp_path / "losses")

    print(f"without {guard}: {len(faults)} of {len(losses)} losses of power are seen")  # noqa: T201  # for a person
    assert faults != {}


def faults_of_care(
    recording: Recording, losses: list[Loss], folder: Path, *, in_workspace: bool
) -> dict[Loss, list[str]]:
    """Each loss is examined where the run was: links and projects name places by their whole paths."""
    recording.root.rename(folder)
    found = {}
    for loss, left, answers in simulate(recording, losses, folder.with_name("losses")):
        left.rename(recording.root)
        answered = {answer["message_id"] for answer in answers}
        if faults := faults_of_cared_for(recording.root, answered, in_workspace=in_workspace):
            found[loss] = faults
        shutil.rmtree(recording.root)
    return found


@pytest.mark.crash
@pytest.mark.parametrize("in_workspace", [False, True], ids=["store", "workspace"])
@pytest.mark.parametrize("run", range(CARE_RUNS))
def test_a_loss_of_power_while_archives_are_looked_after_loses_nothing(
    run: int, in_workspace: bool, tmp_path: Path, shim: Path
) -> None:
    recording = record_care(tmp_path, shim, in_workspace=in_workspace, seed=SEED + run)
    assert replayed(recording) == on_disk(recording.root), "the recorder saw everything"
    losses = choose_losses(recording, LOSSES_OF_CARE, SEED + 1_000 * run)

    faults = faults_of_care(recording, losses, tmp_path / "whole", in_workspace=in_workspace)

    for loss, found in faults.items():  # Whole: an assertion shortens them. The recording at tmp_path gives them again.
        print(loss, *found, sep="\n")  # noqa: T201  # for a person
    assert {str(loss): found[:5] for loss, found in faults.items()} == {}
    print(f"care, run {run + 1}: {len(losses)} losses of power, nothing lost")  # noqa: T201  # for a person


@pytest.mark.crash
@pytest.mark.parametrize("is_put_right", [True, False], ids=["put right at opening", "left as it is"])
def test_what_git_itself_writes_into_a_configuration_must_be_put_right(
    is_put_right: bool, tmp_path: Path, shim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git syncs no configuration. So we write what thins an archive, and put right at opening what is not ours."""
    recording = record_care(tmp_path, shim, in_workspace=False, seed=SEED, without="own-configuration")
    chosen = choose_losses(recording, 40 * LOSSES_WITHOUT_A_GUARD, SEED)
    # It is written once, when months are put away for the first time.
    losses = [loss for loss in chosen if loss.instant == "putting months away"][:LOSSES_WITHOUT_A_GUARD]
    if not is_put_right:
        monkeypatch.setattr(writer, "make_ours", lambda _path: None)

    faults = faults_of_care(recording, losses, tmp_path / "whole", in_workspace=False)

    print(f"without a configuration of our own: {len(faults)} of {len(losses)} losses of power are seen")  # noqa: T201
    assert losses != []
    assert (faults == {}) is is_put_right


@pytest.mark.crash
def test_a_loss_of_power_while_a_store_is_made_or_migrated_loses_nothing(tmp_path: Path, shim: Path) -> None:
    recording = record_migrations(tmp_path, shim)
    assert replayed(recording) == on_disk(recording.root), "the recorder saw everything"
    losses = choose_losses(recording, LOSSES_WHILE_MIGRATING, SEED)

    found = {
        str(loss): faults
        for loss, root, answers in simulate(recording, losses, tmp_path / "losses")
        if (faults := faults_of_migrated(root / "mail.sqlite3", {answer["what"] for answer in answers}))
    }

    assert found == {}
    print(f"making and migrating a store: {len(losses)} losses of power, nothing lost")  # noqa: T201  # for a person


def faults_of_kept(recording: Recording, count: int, folder: Path) -> dict[str, list[str]]:
    found = {}
    for loss, root, answers in simulate(recording, choose_losses(recording, count, SEED), folder):
        if faults := faults_of_contents(root, {answer["sha256"] for answer in answers}):
            found[str(loss)] = faults
        shutil.rmtree(root.parent)
    return found


@pytest.mark.crash
def test_a_loss_of_power_while_contents_are_kept_loses_nothing(tmp_path: Path, shim: Path) -> None:
    recording = record_contents(tmp_path, shim, seed=SEED)
    assert replayed(recording) == on_disk(recording.root), "the recorder saw everything"

    assert faults_of_kept(recording, LOSSES_WHILE_KEEPING, tmp_path / "losses") == {}
    print(f"contents: {LOSSES_WHILE_KEEPING} losses of power, nothing lost")  # noqa: T201  # for a person


@pytest.mark.crash
@pytest.mark.parametrize("guard", ["sync-of-contents", "sync-of-their-folders"])
def test_contents_without_a_sync_are_lost(guard: str, tmp_path: Path, shim: Path) -> None:
    recording = record_contents(tmp_path, shim, seed=SEED, without=guard)

    faults = faults_of_kept(recording, LOSSES_WHILE_KEEPING, tmp_path / "losses")

    print(f"without {guard}: {len(faults)} of {LOSSES_WHILE_KEEPING} losses of power are seen")  # noqa: T201
    assert faults != {}


def faults_of_swaps(recording: Recording, folder: Path) -> dict[str, list[str]]:
    found = {}
    for loss, root, answers in simulate(recording, choose_losses(recording, LOSSES_WHILE_SWAPPING, SEED), folder):
        if faults := faults_of_swapped(root, recording.root, [answer["store"] for answer in answers]):
            found[str(loss)] = faults
        shutil.rmtree(root.parent)
    return found


@pytest.mark.crash
def test_a_loss_of_power_while_a_store_is_replaced_leaves_one_whole(tmp_path: Path, shim: Path) -> None:
    recording = record_swaps(tmp_path, shim)
    assert replayed(recording) == on_disk(recording.root), "the recorder saw everything"

    assert faults_of_swaps(recording, tmp_path / "losses") == {}
    print(f"swaps: {LOSSES_WHILE_SWAPPING} losses of power, one store whole")  # noqa: T201  # for a person


@pytest.mark.crash
def test_a_store_that_was_not_synced_before_its_swap_is_lost(tmp_path: Path, shim: Path) -> None:
    recording = record_swaps(tmp_path, shim, without="sync-of-what-was-built")

    assert faults_of_swaps(recording, tmp_path / "losses") != {}
