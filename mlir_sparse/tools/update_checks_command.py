"""`mlir-sparse update-checks`: CHECK lines for what the RUN lines of tests print."""

from __future__ import annotations

from pathlib import Path

import click

from mlir_sparse.testing.checks import update_checks as updated

__all__ = ["update_checks"]


@click.command("update-checks")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--check-prefix", "prefixes", multiple=True, help="Writes the lines of this prefix alone.")
@click.option("--force", is_flag=True, help="Replaces lines that were written by hand, too.")
def update_checks(files: tuple[Path, ...], prefixes: tuple[str, ...], force: bool) -> None:
    """Writes CHECK lines into FILES for what their RUN lines print, and runs them; what does not pass stays as it was.

    The lines of a function stand above it, those of other output at the end of the file. Values are captured by names
    of what they mean: A_POSITIONS_1, A_BEGIN_1, SUM, I. A note below the RUN lines says whose lines may be replaced.
    The files stand in a suite: `mlir-sparse lit-init` makes one.

    \b mlir-sparse update-checks spmv.mlir
    mlir-sparse update-checks tests/*.mlir --check-prefix LOOPS
    """  # noqa: D301 - click reads the character, not its escape
    for path in files:
        found = updated(path, prefixes=prefixes, replaces=force)
        counts = ", ".join(f"{count} {prefix} lines" for prefix, count in found.written.items())
        click.echo(f"{path}: {counts}" if found.changed else f"{path}: {counts}, as before")
