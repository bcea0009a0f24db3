from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from tests.features.recovery.backups.harness import Stored, faults_in, restorer_of, subjects_in


def test_the_folder_of_another_store_is_a_source_too(went_on: StorePlace, filled: Stored, tmp_path: Path) -> None:
    shutil.copytree(filled.harness.root, tmp_path / "rebuilt")

    assert restorer_of(went_on).restore(tmp_path / "rebuilt").verified
    assert (subjects_in(went_on), faults_in(went_on)) == (["Plan"], [])


def test_neither_a_file_nor_any_folder_is_a_source(went_on: StorePlace, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path, tmp_path / "nothing", went_on.storage_root):
        with pytest.raises(AgentMailError):
            restorer_of(went_on).restore(path)
