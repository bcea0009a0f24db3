"""The log of a command that runs the services itself: no server has set one up."""

from __future__ import annotations

import logging

from mcp_agent_mail.store.engine.sqlite.faults import told_fault


class FaultLog(logging.Handler):
    """Passes over a fault of the store's surroundings (a full disk, a lock), with its traceback: the command that it
    stops tells it, with the next step. All else is written as Python does where nobody has set up a log.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing where another handler has it: there is a log after all, or somebody wants it said by nobody."""
        error = record.exc_info[1] if record.exc_info else None
        if self._is_one_of_several(record) or (error is not None and told_fault(error) is not None):
            return
        if logging.lastResort is not None and record.levelno >= logging.lastResort.level:
            logging.lastResort.handle(record)

    def _is_one_of_several(self, record: logging.LogRecord) -> bool:
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None:
            if any(one is not self for one in logger.handlers):
                return True
            logger = logger.parent if logger.propagate else None
        return False


def tell_faults_once() -> None:
    """For this process. A repeat does nothing more."""
    log = logging.getLogger("mcp_agent_mail")
    if not any(isinstance(one, FaultLog) for one in log.handlers):
        log.addHandler(FaultLog())
