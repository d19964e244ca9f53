"""`mlir-sparse split`: text files larger than memory, cut into files that are read in parts."""

from __future__ import annotations

import click

from mlir_sparse.tensor.files.split_text import split as split_text

__all__ = ["split"]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--pieces", required=True, type=click.IntRange(min=1), help="How many files to write.")
@click.option("-o", "--output", required=True, type=click.Path(), help="The folder to make.")
@click.option("-f", "--encoding", metavar="ENCODING", help="Storage of the parts; CSR for matrices by default.")
@click.option("--shape", metavar="RxCx...", help="Extents, for .tns files that lack them.")
@click.option("--index-base", type=click.IntRange(0, 1), help="0 for a .tns file that counts from 0.")
def split(file: str, pieces: int, output: str, encoding: str | None, shape: str | None, index_base: int | None) -> None:
    """Cuts FILE, Matrix Market or .tns, into PIECES files of about as many entries.

    The folder of them is one tensor to `mlir-sparse run --memory` and to `source`. Memory is that of one piece; the
    disk holds the entries twice meanwhile.

    \b mlir-sparse split web.mtx --pieces 64 -o web
    mlir-sparse run "y(i) = A(i,j) * x(j)" -i A=web -g x=ones --memory 1GiB
    """  # noqa: D301 - click reads the character, not its escape
    found = split_text(file, output, pieces, encoding, shape=_extents(shape), index_base=index_base)
    extents = "x".join(map(str, found.shape))
    mean = sum(found.entries) / len(found.entries)
    balance = f", the largest {max(found.entries) / mean:.2f} of the mean" if mean else ""
    click.echo(
        f"{output}: {extents}, {sum(found.entries):,} entries in {len(found.entries)} files along dimension "
        f"{found.axis}{balance}"
    )


def _extents(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    words = text.split("x")
    if not all(word.isdigit() for word in words):
        raise click.UsageError(f"expected extents such as 100x200 for --shape, but got {text}")
    return tuple(map(int, words))
