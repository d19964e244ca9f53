"""Files that reproduce a compiler failure: the module, the pipeline, the versions."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator

from mlir_sparse._mlir import bindings, ir, mlir_context, parse_module
from mlir_sparse.disk import PARTIAL, write_whole
from mlir_sparse.errors import SettingError
from mlir_sparse.process import settings
from mlir_sparse.process.own_stack import deep_calls
from mlir_sparse.text.module_text import BYTECODE

__all__ = ["FUNCTIONS_MARK", "PIPELINE_MARK", "write_reproducer"]

PIPELINE_MARK = "// pipeline: "
FUNCTIONS_MARK = "// functions: "
_FOLDER, _PREFIX, _SUFFIX = "reproducers", "mlir-sparse-", ".mlir"
_MOST_FILES, _MOST_BYTES = 32, 64 << 20


def write_reproducer(module: bytes, pipeline: str, kernel: str, functions: tuple[str, ...] = ()) -> str | None:
    """Writes a module, its pipeline and the functions to make machine code of to a new file.

    The folder is `reproducers` in the user's cache, or in the temporary folder without a cache; the oldest files are
    removed for the newest.

    Returns:
        the path, for `python -m mlir_sparse.pipeline PATH`; None if none could be written.
    """
    text, found = _as_text(module), bindings()
    marked = f"{FUNCTIONS_MARK}{' '.join(functions)}\n" if functions else ""
    content = (
        f"// kernel: {kernel}\n// bindings: {found.name} {found.version}\n{marked}{PIPELINE_MARK}{pipeline}\n{text}"
    )
    for folder in _folders():
        try:
            return _written(folder, content)
        except OSError:  # a full disk, a folder that is read only or another's
            continue
    return None


def _folders() -> Iterator[str]:
    try:
        kept = settings.user_folder()
    except SettingError:
        kept = None
    if kept is not None:
        yield os.path.join(kept, _FOLDER)
    with contextlib.suppress(FileNotFoundError):  # no folder can be written to: all is full, or read only
        yield os.path.join(tempfile.gettempdir(), f"mlir_sparse-{os.geteuid()}", _FOLDER)


def _written(folder: str, content: str) -> str:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        raise PermissionError(folder)
    path = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
    write_whole(path, content.encode(errors="backslashreplace"), private=True)
    _trim(folder, path)
    return path


def _trim(folder: str, newest: str) -> None:
    """Removes the oldest of our files if there are too many or too large ones; other processes may do the same."""
    kept: list[tuple[int, int, str]] = []
    with os.scandir(folder) as items:
        for item in items:
            ours = item.name.startswith(PARTIAL) or (item.name.startswith(_PREFIX) and item.name.endswith(_SUFFIX))
            if ours and item.path != newest:
                with contextlib.suppress(OSError):
                    about = item.stat(follow_symlinks=False)
                    kept.append((about.st_mtime_ns, about.st_size, item.path))
    count, total = 1, os.path.getsize(newest)
    for _, size, path in sorted(kept, reverse=True):
        count, total = count + 1, total + size
        if count > _MOST_FILES or total > _MOST_BYTES:
            with contextlib.suppress(OSError):
                os.unlink(path)


@deep_calls
def _as_text(module: bytes) -> str:
    """Returns a module as MLIR text; what is no bytecode is text already, if only of a module that does not parse."""
    if not module.startswith(BYTECODE):
        return module.decode(errors="replace")
    try:
        with mlir_context():
            return str(parse_module(module))
    except ir.MLIRError:
        return f"// bytecode that MLIR does not read: {module.hex()}\n"
