"""The commands that stand for MLIR's own, `mlir-sparse opt` and `mlir-sparse runner`, and suites of tests with them."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mlir_sparse.testing import lit
from mlir_sparse.tools.opt_command import RESULTS, RunnerRequest, optimize, run_program

__all__ = ["lit_init", "opt", "runner"]


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def opt(arguments: tuple[str, ...]) -> None:
    """Runs passes on a module, as mlir-opt does: reads FILE, or standard input, and prints what becomes of it.

    Each pass is a flag, `--canonicalize` or `--sparsification="parallelization-strategy=none"`, in the order they run;
    or `--pass-pipeline="builtin.module(...)"`. Pipelines: --sparsifier, MLIR's; --cpu, that of this package's kernels;
    --user-module, that of `run FILE.mlir`; --gpu=sm_90, to PTX: where `emit --target cuda` printed the module, the
    kernels of its plan; of any other, one for each parallel outer loop whose iterations are apart, and those of
    gpu.func. --list-passes lists the passes of this package, and those that Python files of
    --load-pass-plugin register (ms.register_pass).

    --run-reproducer runs the passes that a file names which a failure of the compiler left.

    As in mlir-opt: -o, --split-input-file, --verify-diagnostics, --verify-each, --allow-unregistered-dialect,
    --mlir-print-ir-before=PASS, -after=PASS, -before-all, -after-all, -after-change, -module-scope,
    --mlir-print-op-generic, --mlir-print-debuginfo, --mlir-print-local-scope, --mlir-elide-elementsattrs-if-larger,
    --mlir-timing, --mlir-pass-statistics.
    """
    sys.exit(optimize(arguments))


@click.command(context_settings={"help_option_names": ["--help"]})
@click.argument("source", default="-")
@click.option("-e", "-entry-point", "--entry-point", "entry", default="main", show_default=True, help="The function.")
@click.option(
    "-entry-point-result",
    "--entry-point-result",
    "result",
    default=RESULTS[0],
    show_default=True,
    type=click.Choice(RESULTS),
    help="What it returns, which is printed.",
)
@click.option(
    "-shared-libs",
    "--shared-libs",
    "libraries",
    multiple=True,
    help="Libraries with functions that it calls; what those of MLIR's runner have is there without them.",
)
@click.option("-O", "level", type=click.IntRange(0, 3), default=2, show_default=True, help="LLVM's optimisation level.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds the program may take.")
def runner(source: str, entry: str, result: str, libraries: tuple[str, ...], level: int, timeout: float | None) -> None:
    """Runs a function of a module in the LLVM dialect, as mlir-runner does."""
    named = tuple(path for given in libraries for path in given.split(",") if path)
    sys.exit(run_program(RunnerRequest(source, entry, result, named, level, timeout)))


@click.command("lit-init")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def lit_init(folder: Path) -> None:
    """Makes FOLDER a suite of lit: writes a configuration and an example, then `lit FOLDER` runs them."""
    for path in lit.write_suite(folder):
        click.echo(f"wrote {path}")
