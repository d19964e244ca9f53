"""What probes of bindings found, kept for later processes: by name, by the files of the bindings, and by the probe."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from typing import TypedDict

from mlir_sparse._mlir.bindings_files import File, libraries_in, place_of
from mlir_sparse.classes import dataclass
from mlir_sparse.disk import write_whole
from mlir_sparse.disk.fingerprint import blake2b
from mlir_sparse.process import settings

__all__ = ["Probe", "keep_probe", "kept_folders", "kept_probe"]

# What these look for decides the result.
_PROBES = ("bindings_probe.py", "golden_compile.py", "ir.pyi", "needed_names.py", "older_passes.py")


@dataclass(frozen=True, slots=True)
class Probe:
    """What a probe of bindings found.

    Args:
        found: what is there, a text for each step.
        missing: what is not; "" where kernels can be compiled.
        lasting: whether it stays so until other bindings are installed: a library that they lack may come any time.
    """

    found: tuple[str, ...]
    missing: str
    lasting: bool


class _Kept(TypedDict):
    found: list[str]
    missing: str
    folders: list[str]
    files: list[list[str | int]]


def kept_probe(name: str) -> Probe | None:
    """Returns what an earlier probe of the same files found, or None."""
    kept = _read(name)
    if kept is None or kept["files"] != [list(file) for file in libraries_in(kept["folders"])]:
        return None
    return Probe(tuple(kept["found"]), kept["missing"], lasting=True)


def kept_folders(name: str) -> Sequence[str]:
    """Returns the folders of the libraries that bindings were found to load; none if no probe was kept."""
    kept = _read(name)
    return () if kept is None else tuple(kept["folders"])


def keep_probe(name: str, probe: Probe, folders: Iterable[str]) -> None:
    """Keeps what a probe found, if it is lasting and anything is kept here.

    Args:
        name: the bindings' module.
        probe: what was found.
        folders: the folders of the libraries that the bindings have loaded.
    """
    path = _path(name)
    if path is None or not probe.lasting:
        return
    folders = list(folders)
    files: list[list[str | int]] = [[*file] for file in libraries_in(folders)]
    kept: _Kept = {"found": [*probe.found], "missing": probe.missing, "folders": folders, "files": files}
    with contextlib.suppress(OSError):  # a full disk, a folder that is read only: the next process probes again
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        write_whole(path, json.dumps(kept).encode(), private=True)


def _path(name: str) -> str | None:
    folder = settings.user_folder()
    if folder is None:
        return None
    here = os.path.dirname(os.path.abspath(__file__))
    seen = repr((name, place_of(name), [_about(os.path.join(here, one)) for one in _PROBES]))
    return os.path.join(folder, blake2b(seen.encode(), digest_size=20).hexdigest() + ".bindings")


def _about(path: str) -> File | None:
    try:
        about = os.stat(path)
    except OSError:  # of an archive
        return None
    return path, about.st_mtime_ns, about.st_size


def _read(name: str) -> _Kept | None:
    path = _path(name)
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            kept: _Kept = json.load(file)
        texts = (kept["missing"], *kept["found"], *kept["folders"])
        return kept if all(isinstance(text, str) for text in texts) and kept["files"] else None
    except (OSError, ValueError, KeyError, TypeError):  # another's, or damaged: the probe is run again
        return None
