"""Options that several commands have: about tensors, about how a kernel is compiled, and about data."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from mlir_sparse.process.settings import OPTIMIZATIONS
from mlir_sparse.tools.command_options import CommandRequest, NamedValue, as_mapping
from mlir_sparse.tools.generated_tensors import KINDS
from mlir_sparse.tools.run_module_command import is_module_source, source_text

__all__ = ["COMPILING", "DATA", "QUIET", "TENSORS", "Option", "Pairs", "tensor_options", "with_options"]

Pairs = tuple[tuple[str, str], ...]
Option = Callable[[Callable[..., None]], Callable[..., None]]

TENSORS: tuple[Option, ...] = (
    click.option(
        "-f",
        "encodings",
        multiple=True,
        type=NamedValue(":", "ENCODING"),
        help="Storage; dense when absent, of a file what ms.read makes of it.",
    ),
    click.option("-t", "dtypes", multiple=True, type=NamedValue(":", "DTYPE"), help="Element type; f64 when absent."),
    click.option(
        "-s", "shapes", multiple=True, type=NamedValue("=", "SHAPE"), help="Extents, as in 1000x?; `?` is any."
    ),
    click.option("--semiring", help="What `+` and `*` mean, such as min_plus; what is not stored is its zero."),
    click.option("--target", default="cpu", show_default=True, help="What to compile for."),
)
"""What tensors are like, and what for."""

COMPILING: tuple[Option, ...] = (
    click.option(
        "--via",
        default="auto",
        show_default=True,
        type=click.Choice(("auto", "codegen", "library")),
        help="On a GPU: kernels of our own, or NVIDIA's libraries.",
    ),
    click.option(
        "--schedule",
        help="Loops, lanes and tiles, such as 'order=i,k,j lanes=8 tile=32', or 'tuned'; chosen when absent.",
    ),
    click.option(
        "--optimize",
        type=click.Choice(OPTIMIZATIONS),
        help="Whether another way to compute NOTATION is taken where it takes less by estimate, for types where that "
        "holds of all sizes: auto; algebra also lets terms cancel; off is as written. MLIR_SPARSE_OPTIMIZE or auto "
        "when absent.",
    ),
)
"""How a kernel is compiled."""

DATA: tuple[Option, ...] = (
    click.option(
        "-i",
        "inputs",
        multiple=True,
        type=NamedValue("=", "FILE"),
        help="Reads .mtx, .tns or .ttx (.gz too); a number of a module is given itself.",
    ),
    click.option(
        "-g",
        "generated",
        multiple=True,
        type=NamedValue("=", "KIND"),
        help=f"Makes values: {', '.join(KINDS)} or a number; KIND:seed=1,density=0.1 where random or sparse.",
    ),
)
"""Where operands come from."""

QUIET: tuple[Option, ...] = (click.option("--quiet", is_flag=True, help="Shows no progress."),)
"""What is shown meanwhile."""


def with_options(*options: Option) -> Option:
    """Returns a decorator that gives a command options, in this order."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def tensor_options(command: Callable[..., None], module: Callable[..., None] | None = None) -> Callable[..., None]:
    """Adds the options about tensors; the command gets them as a request.

    Args:
        command: for NOTATION.
        module: takes a module in its place, with all options.
    """

    @wraps(command)
    def of_request(
        notation: str | None, encodings: Pairs, dtypes: Pairs, shapes: Pairs, semiring: str | None, **others: Any
    ) -> None:
        if notation is None and others.get("verify"):
            notation, others["verify"] = others["verify"], ""  # `run --verify NOTATION`: the switch alone
        if notation is None:
            raise click.UsageError("Missing argument 'NOTATION'.")
        if module is not None:
            notation = source_text(notation)
        if module is not None and is_module_source(notation):
            given = {"-f": encodings, "-t": dtypes, "--semiring": semiring}
            return module(notation, shapes, given, **others)
        named = as_mapping("-f", encodings), as_mapping("-t", dtypes), as_mapping("-s", shapes)
        command(CommandRequest.of(notation, *named, semiring=semiring), **others)

    return with_options(click.argument("notation", required=False), *TENSORS)(of_request)
