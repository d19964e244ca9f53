"""`mlir-sparse explore`: a page of what every pass makes of a statement or of a module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import mlir_sparse as ms
from mlir_sparse.compile.exploring.module_sections import module_passes
from mlir_sparse.compile.exploring.passes_value import Passes
from mlir_sparse.compile.modules.user_module import content_of
from mlir_sparse.pipeline.opt_options import OptOptions
from mlir_sparse.tools.command_options import CommandRequest, as_mapping
from mlir_sparse.tools.opt_flags import parse_flags
from mlir_sparse.tools.run_module_command import is_module_source, source_text
from mlir_sparse.tools.shared_options import COMPILING, TENSORS, Pairs, with_options

__all__ = ["explore"]


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="NOTATION | MODULE [PASSES]")
@with_options(*TENSORS, *COMPILING)
@click.option("-o", "output", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The page to write.")
@click.option("--entry", help="The function of a module to show, with those that it calls; all when absent.")
@click.option("--lanes", default=0, show_default=True, help="Lanes of vector loops, of a module.")
def explore(
    words: tuple[str, ...],
    encodings: Pairs,
    dtypes: Pairs,
    shapes: Pairs,
    semiring: str | None,
    output: Path,
    entry: str | None,
    lanes: int,
    **options: Any,
) -> None:
    """Writes a page of what every pass makes of NOTATION or of a module.

    The page is one file, which needs no server and no network: the text, whose parts are linked with the lines that
    they become; the iteration graph; the storage of the operands; each pass with its time, its remarks and what it
    changed; LLVM IR and assembly, or PTX.

    MODULE is a .mlir file or MLIR's text. PASSES are flags, as of `mlir-sparse opt`: `--canonicalize`,
    `--sparsifier="enable-runtime-library=false"`, `--pass-pipeline="builtin.module(...)"`; when absent those that
    `mlir-sparse run` compiles modules with.

    Where a pass fails, the page shows those before it, and the exit status is 1.

    \b
    mlir-sparse explore "y(i) = A(i,j) * x(j)" -f A:CSR -o page.html
    mlir-sparse explore "y(i) = A(i,j) * x(j)" -f A:CSR --target cuda:sm_90 -o page.html
    mlir-sparse explore spmv.mlir --entry spmv -o page.html
    mlir-sparse explore spmv.mlir --sparsification --canonicalize -o page.html
    """  # noqa: D301 - click reads the character, not its escape
    texts = [word for word in words if word == "-" or not word.startswith("-")]
    flags = [word for word in words if word != "-" and word.startswith("-")]
    if len(texts) != 1:
        raise click.UsageError(f"expected one NOTATION or MODULE, but got {' and '.join(texts) or 'none'}")
    source = source_text(texts[0])
    if is_module_source(source):
        given = {"-f": encodings, "-t": dtypes, "-s": shapes, "--semiring": semiring}
        given |= {f"--{name}": value for name, value in options.items() if value not in (None, "cpu", "auto")}
        refused = [option for option, value in given.items() if value]
        if refused:
            raise click.UsageError(f"expected no {refused[0]} with a module, whose functions have types, but got it")
        passes = _of_module(source, flags, entry, lanes)
    else:
        if flags or entry is not None or lanes:
            raise click.UsageError(
                f"expected {flags[0] if flags else '--entry' if entry is not None else '--lanes'} with a module, "
                "but got NOTATION, whose passes are those of its kernel"
            )
        named = as_mapping("-f", encodings), as_mapping("-t", dtypes), as_mapping("-s", shapes)
        passes = _of_notation(CommandRequest.of(source, *named, semiring=semiring), options)
    passes.save(output)
    changed = sum(len(section.trace) - 1 for section in passes.sections)
    click.echo(f"wrote {output}: {changed} passes, {output.stat().st_size:,} bytes", err=True)
    if passes.failure is not None:
        raise passes.failure


def _of_notation(request: CommandRequest, options: dict[str, Any]) -> Passes:
    types = {name: request.type_of(name) for name in request.tensors}
    kernel: Any = ms.compile(request.assignment, tensors=types, out=request.output, **options)
    passes: Passes = kernel.passes()
    return passes


def _of_module(source: str, flags: list[str], entry: str | None, lanes: int) -> Passes:
    name, content = content_of(source.strip() if "\n" not in source else source)
    request = parse_flags(flags)
    others = [flag for flag in flags if parse_flags([flag]).options.items == ()]
    if others or request.options != OptOptions(items=request.options.items):
        raise click.UsageError(f"expected flags of passes, but got {(others or flags)[0]}")
    return module_passes(content, name, request.options.items or None, lanes=lanes, entry=entry)
