"""One process owns a store: a kernel lock says so, and a file beside it says who.

The lock is the kernel's (`flock`): it is free the instant its holder ends, however it ends, so it is
never broken because of its age. The store's folder is locked as well as a file in it, which could be
removed under its holder; where a file system locks no folders (NFS), the file has to do. The file
beside it is only information: while the lock is free, nobody owns the store, whatever that file says
(`core/store_owner` reads it).
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from mcp_agent_mail.core.clock import Clock, iso, system_clock
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.plain_files import (
    UnfitFile,
    read_plain,
    real_path,
    require_lock_place,
    require_no_folder,
)
from mcp_agent_mail.core.private_files import replace_private
from mcp_agent_mail.core.store_owner import LOCK_FILE, OWNER_FILE, Owner, owner_by, told_owner
from mcp_agent_mail.store.engine.folder import require_own_links, require_private_place
from mcp_agent_mail.store.engine.sqlite.database_files import beside, rebuilt_aside, remove_unfinished
from mcp_agent_mail.store.engine.sqlite.swap import NotedReset, OnReset, finish_swap, noted_reset, nothing_beside
from mcp_agent_mail.store.engine.sqlite.swap_places import SwapPlaces

logger = logging.getLogger(__name__)

# Longer than `read_owner` holds its shared lock, so that somebody who only looks never keeps a server from starting.
_PATIENCE_S = 0.5
_POLL_S = 0.05


class StoreInUse(Unavailable):
    """Another process owns the store."""


class StoreLock:
    """`with StoreLock(storage_root, database_path) as lock:` owns the store, or raises StoreInUse.

    Whoever owns it finds it whole: a swap that was interrupted is finished first (SwapUnfinished if it cannot be,
    SwapRefused if it is none of ours), and no part of it leads where somebody else has put it (ForeignLink). What is no
    file in the place of a lock is UnfitPlace.

    A database that lies elsewhere is locked there too: another STORAGE_ROOT may name it as well. `on_reset` as
    `finish_swap` takes it.
    """

    def __init__(
        self,
        storage_root: Path,
        database_path: Path,
        *,
        on_reset: OnReset = nothing_beside,
        clock: Clock = system_clock,
    ) -> None:
        self._storage_root = storage_root
        self._on_reset = on_reset
        self._swap_places = SwapPlaces(storage_root=storage_root, database_path=database_path)
        self._places = [(storage_root / LOCK_FILE, storage_root / OWNER_FILE)]
        database = self._database = Path(real_path(str(database_path)))
        if database.parent != storage_root.resolve():
            lock_file = beside(database, ".lock")
            self._places.append((lock_file, beside(lock_file, ".json")))
        self._clock = clock
        self._started: str | None = None
        self._told = ""
        self._held = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as taken:
            require_private_place(self._storage_root)
            require_own_links(self._storage_root)
            for number, (lock_file, owner_file) in enumerate(self._places):
                lock_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                require_lock_place(lock_file, follow=False)
                _take(lock_file, owner_file, taken)
                if number == 0:
                    _take_folder(self._storage_root, owner_file, taken)
                require_no_folder(owner_file)
                owner_file.unlink(missing_ok=True)  # Of one that was killed: nobody is at its address any more.
                taken.callback(owner_file.unlink, missing_ok=True)
            reset = noted_reset(self._swap_places.journal)
            if finish_swap(self._swap_places, on_reset=self._on_reset):
                _tell_of_finished(reset)
            # What a rebuild left that was stopped: nobody has use for it.
            remove_unfinished(rebuilt_aside(self._database))
            self._started = iso(self._clock())
            self._note(url=None)
            self._held = taken.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def announce(self, url: str, *, listens_on: str | None = None) -> None:
        """Tell commands on this machine where to reach the server, and people what it listens on."""
        self._note(url=url, listens_on=listens_on or url)

    def _note(self, *, url: str | None, listens_on: str | None = None) -> None:
        owner = Owner(pid=os.getpid(), url=url, listens_on=listens_on, started=self._started)
        self._told = json.dumps(asdict(owner))
        for _, owner_file in self._places:
            replace_private(owner_file, self._told)

    async def keep_told(self) -> None:
        """Write again what was removed, torn or replaced since. For the holder."""
        for _, owner_file in self._places:
            if not _holds(owner_file, self._told):
                replace_private(owner_file, self._told)


@contextmanager
def left_alone(storage_root: Path, database_path: Path) -> Iterator[None]:
    """For who only reads a store of which nothing may be written, not even a lock: nobody owns it meanwhile, since the
    locks that are there are shared. Raises StoreInUse.
    """
    files = [storage_root / LOCK_FILE, beside(database_path, ".lock")]
    with ExitStack() as held:
        for path, flags in ((storage_root, os.O_DIRECTORY), *((file, os.O_NONBLOCK | os.O_NOFOLLOW) for file in files)):
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
            except OSError:
                continue  # There is none, or none that anybody could have locked.
            held.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError as owned:
                raise _in_use(storage_root, told_owner(storage_root / OWNER_FILE)) from owned
            except OSError as failed:
                logger.info("%s cannot be locked (%s)", path, failed.strerror)
        yield


def _take(lock_file: Path, owner_file: Path, taken: ExitStack) -> None:
    from filelock import FileLock, Timeout  # noqa: PLC0415  # 45 ms, for who takes the lock alone.

    lock = FileLock(lock_file, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        taken.enter_context(lock.acquire(timeout=_PATIENCE_S))
    except Timeout as held:
        raise _in_use(lock_file.parent, owner_by(lock_file, owner_file)) from held


def _take_folder(storage_root: Path, owner_file: Path, taken: ExitStack) -> None:
    """Children do not inherit the descriptor, nor that of the file."""
    descriptor = os.open(storage_root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    taken.callback(os.close, descriptor)
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            if time.monotonic() >= until:
                raise _in_use(storage_root, told_owner(owner_file)) from held
            time.sleep(_POLL_S)
        except OSError as failed:
            logger.info("the folder %s cannot be locked (%s): its lock file has to do", storage_root, failed.strerror)
            return
        else:
            return


def _tell_of_finished(reset: NotedReset | None) -> None:
    if reset is None:
        logger.warning("an interrupted restore or rebuild of the store is done now")
    elif reset.saved is None:
        logger.warning("an interrupted reset of the store is done now; it had saved nothing")
    else:
        logger.warning("an interrupted reset of the store is done now; what it saved is in %s", reset.saved)


def _holds(owner_file: Path, text: str) -> bool:
    content = text.encode()
    try:
        return read_plain(str(owner_file), len(content), follow=False) == content
    except UnfitFile:
        return False


def _in_use(place: Path, owner: Owner | None) -> StoreInUse:
    pid = owner.pid if owner else None
    url = owner.listens_on if owner else None
    by_whom = f"process {pid}" if pid else "another process"
    serving = f", which serves {url}" if url else ""
    stop_it = f"stop it{f' (kill {pid})' if pid else ''} and start again"
    use_it = (
        f"Use the server at {url}, or {stop_it}"
        if url
        else "Wait until it is done. If it is a server, say where it listens: set AGENT_MAIL_URL"
    )
    return StoreInUse(
        f"The store in {place} is in use by {by_whom}{serving}.",
        hint=f"{use_it}; another STORAGE_ROOT is another store.",
        data={"pid": pid, "url": url, "started": owner.started if owner else None, "storage_root": str(place)},
    )
