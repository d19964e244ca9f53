"""`mlir-sparse migrate`: files of MLIR in older spellings, rewritten to those of the bindings in use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from mlir_sparse.classes import dataclass
from mlir_sparse.disk.replace import write_whole
from mlir_sparse.errors import OperandError
from mlir_sparse.migration import Migration, migrated
from mlir_sparse.text.module_text import BYTECODE

__all__ = ["migrate"]


@dataclass(frozen=True, slots=True)
class _File:
    """A file to migrate: its path and content, and where it goes."""

    path: str
    content: bytes
    target: Path | None


@click.command()
@click.argument("source")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File, or folder for a folder, to write to.")
@click.option("--in-place", is_flag=True, help="Writes to the files themselves.")
@click.option("--check", is_flag=True, help="Writes nothing; exits with 1 where something would change.")
@click.option("-q", "--quiet", is_flag=True, help="Does not list changes.")
def migrate(source: str, output: Path | None, in_place: bool, check: bool, quiet: bool) -> None:
    """Rewrites SOURCE, a .mlir file, a folder of them or - for standard input, to the spelling of today.

    Encodings of LLVM 13 to 21 (dimLevelType, dimOrdering, pointerBitWidth, lvlTypes, dimToLvl, compressed-nu,
    block2_4, ...), operations and types that were renamed or have another syntax, and the commands of RUN lines. Each
    change is listed with its file and line. Comments, strings and everything else stay as they are; CHECK lines are
    comments. What nothing today says the same way stays, is named, and makes the exit status 1.

    \b mlir-sparse migrate old.mlir -o new.mlir
    mlir-sparse migrate tests --in-place
    mlir-sparse migrate tests --check
    """  # noqa: D301 - click reads the character, not its escape
    if sum((output is not None, in_place, check)) > 1:
        raise click.UsageError("expected one of -o, --in-place and --check, but got several")
    count = left = 0
    to_stderr = output is None and not in_place and not check
    for file in _files(source, output, in_place, check):
        found = migrated(_text(file), file.path)
        count += len(found.changes)
        left += len(found.left)
        for change in () if quiet else found.changes:
            click.echo(f"{file.path}:{change}", err=to_stderr)
        for one in found.left:
            click.echo(f"{file.path}:{one}", err=True)
        if not check:
            _write(file, found)
    if left:
        places = f"{left} places that are" if left > 1 else "a place that is"
        click.echo(f"mlir-sparse: error: expected to find what says the same today, but left {places} older", err=True)
    if left or (check and count):
        sys.exit(1)


def _files(source: str, output: Path | None, in_place: bool, check: bool) -> Iterator[_File]:
    if source == "-":
        if in_place:
            raise click.UsageError("expected a file for --in-place, but got standard input")
        yield _File("<stdin>", sys.stdin.buffer.read(), output)
        return
    path = Path(source)
    if not path.is_dir():
        yield _File(source, path.read_bytes(), path if in_place else output)
        return
    if not (in_place or check or output is not None):
        raise click.UsageError(f"expected -o FOLDER, --in-place or --check for a folder, but got {source} alone")
    paths = sorted(one for one in path.rglob("*.mlir") if one.is_file())
    if not paths:
        raise OperandError(f"expected .mlir files below {source}, but there are none")
    for one in paths:
        target = one if in_place else output / one.relative_to(path) if output is not None else None
        yield _File(str(one), one.read_bytes(), target)


def _text(file: _File) -> str:
    if file.content.startswith(BYTECODE):
        raise OperandError(f"expected a text in {file.path}, but got MLIR's bytecode, which has no spelling")
    # Bytes that are no UTF-8 pass through as they are.
    return file.content.decode("utf-8", "surrogateescape")


def _write(file: _File, found: Migration) -> None:
    content = found.text.encode("utf-8", "surrogateescape")
    if file.target is None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif str(file.target) != file.path or content != file.content:
        file.target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file.target, content)
