"""The table of packages counts what is there, and finds circles and imports that go upward."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.packages import Folder, circles, folders, imports_of, upward


def _house(root: Path, **modules: str) -> Path:
    """A package `small_house` with these modules: `store__mail` is `store/mail.py`."""
    for name, text in modules.items():
        path = root / "src" / "small_house" / f"{name.replace('__', '/', 1)}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent, root / "src" / "small_house"):
            (folder / "__init__.py").touch()
        path.write_text(text)
    return root


def test_folders_are_counted_with_what_goes_in_and_out(tmp_path: Path) -> None:
    root = _house(
        tmp_path,
        core__clock="SECOND = 1\n",
        store__mail="import small_house.core.clock\nimport small_house.store.outbox\n",
        store__outbox="import small_house.core.clock\n",
    )

    found = folders(root, *imports_of(root, "small_house"))

    assert found == [
        Folder(name="small_house/core", modules=1, lines=1, imported_by=2, imports=0),
        Folder(name="small_house/store", modules=2, lines=3, imported_by=0, imports=1),
    ]


def test_circles_and_upward_imports_are_found(tmp_path: Path) -> None:
    root = _house(
        tmp_path,
        core__clock="import small_house.store.mail\n",
        store__mail="import small_house.core.ids\n",
        core__ids="",
    )

    _, imports = imports_of(root, "small_house")

    assert circles(root, imports) == [["small_house/core", "small_house/store"]]
    assert upward(imports, "small_house", ["store", "core"]) == ["small_house.core.clock -> small_house.store.mail"]
