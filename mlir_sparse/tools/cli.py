"""The command line of the package: `mlir-sparse --help`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

import mlir_sparse as ms
from mlir_sparse.compile.gpu_build import GPU_STAGES
from mlir_sparse.dtypes import DType
from mlir_sparse.tools.command_options import CommandRequest, NamedValue, as_mapping
from mlir_sparse.tools.doctor import examine
from mlir_sparse.tools.explore_command import explore
from mlir_sparse.tools.formats_command import describe_formats
from mlir_sparse.tools.generated_tensors import Generator
from mlir_sparse.tools.migrate_command import migrate
from mlir_sparse.tools.mlir_commands import lit_init, opt, runner
from mlir_sparse.tools.run_command import Job, execute
from mlir_sparse.tools.run_module_command import ModuleJob, run_module
from mlir_sparse.tools.run_operands import Sources
from mlir_sparse.tools.run_report import Report, summary
from mlir_sparse.tools.run_stream import execute_in_parts
from mlir_sparse.tools.shared_options import COMPILING, DATA, QUIET, Pairs, tensor_options, with_options
from mlir_sparse.tools.split_command import split
from mlir_sparse.tools.tune_command import Question, find_fastest, measured_machine
from mlir_sparse.tools.update_checks_command import update_checks

__all__ = ["main"]


class _Failure(click.ClickException):
    """A user's mistake or a compiler's refusal: one message on stderr, exit status 1."""

    def show(self, file: Any = None) -> None:
        click.echo(f"mlir-sparse: error: {self.message}", err=True)


class _Group(click.Group):
    """Commands whose SparseErrors become one message without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ms.SparseError as error:
            raise _Failure(str(error)) from error
        except MemoryError as error:
            raise _Failure(f"expected tensors that fit in memory, but got: {error}") from error
        except OSError as error:
            if error.filename is None and isinstance(error, BrokenPipeError):
                raise  # the reader closed the pipe: click ends silently
            if error.filename is None:
                raise _Failure(f"cannot read or write: {error.strerror or error}") from error
            raise _Failure(f"cannot use {error.filename}: {error.strerror}") from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mlir-sparse")
def main() -> None:
    """Compiles index notation on sparse tensors with MLIR, and runs it; runs and transforms modules of MLIR.

    NOTATION is an assignment such as "y(i) = A(i,j) * x(j)", or a tensor comprehension of several,
    "def mv(float(M,K) A, float(K) x) -> (C) { C(i) +=! A(i,k) * x(k) }"; NAME is one of its tensors. An ENCODING is a
    preset (`mlir-sparse formats` lists them), a map such as "(i, j) -> (i : dense, j : compressed)", or the dialect's
    attribute text.
    """


# Stages of the kernel, the list of passes, and the explanation.
_TEXTS = (*ms.STAGES, *GPU_STAGES, "passes", "explain")


@main.command()
@tensor_options
@with_options(*COMPILING)
@click.option("--stage", default="linalg", show_default=True, type=click.Choice(_TEXTS), help="Which text to print.")
@click.option("--diff", "changed_by", metavar="PASS", help="Print what a pass changed (--stage passes lists them).")
def emit(
    request: CommandRequest,
    target: str,
    via: str,
    schedule: str | None,
    optimize: str | None,
    stage: str,
    changed_by: str | None,
) -> None:
    """Prints what NOTATION becomes at one stage, and nothing else.

    \b mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage linalg mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR
    --diff sparsification mlir-sparse emit "y(i) = A(i,j) * x(j)" -f A:CSR --stage ptx --target cuda:sm_90
    """  # noqa: D301 - click reads the character, not its escape
    types = {name: request.type_of(name) for name in request.tensors}
    kernel: Any = ms.compile(
        request.assignment,
        tensors=types,
        out=request.output,
        target=target,
        via=via,
        schedule=schedule,
        optimize=optimize,
    )
    text = _passes(kernel).diff(changed_by) if changed_by is not None else _text(kernel, stage)
    click.echo(text.rstrip("\n"))


def _passes(kernel: Any) -> Any:
    passes = kernel.passes()
    if passes.failure is not None:
        raise passes.failure
    return passes


def _text(kernel: Any, stage: str) -> str:
    match stage:
        case "passes":
            return str(_passes(kernel))
        case "explain":
            return str(kernel.explain())
        case _:
            return str(kernel.ir(stage))


def _run_module(
    source: str,
    shapes: Pairs,
    others: dict[str, Any],
    *,
    inputs: Pairs,
    generated: Pairs,
    outputs: Pairs,
    repeats: int | None,
    verify: str | None,
    quiet: bool,
    entry: str | None,
    lanes: int,
    timeout: float | None,
    explains: bool,
    **of_notation: Any,
) -> None:
    """Runs a module in place of NOTATION."""
    others |= {"--explain": explains}
    others |= {f"--{name}": value for name, value in of_notation.items() if value not in (None, "cpu", "auto")}
    refused = [option for option, value in others.items() if value]
    if refused:
        raise click.UsageError(f"expected no {refused[0]} with a module, whose functions have types, but got it")
    if verify == "":
        raise click.UsageError('expected --verify "y(i) = A(i,j) * x(j)" with a module, but got no notation')
    files = {name: Path(path) for name, path in as_mapping("-i", inputs).items()}
    makers = {name: Generator.parse(text) for name, text in as_mapping("-g", generated).items()}
    results = {name: Path(path) for name, path in as_mapping("-o", outputs).items()}
    given = as_mapping("-s", shapes)
    job = ModuleJob(source, entry, files, makers, given, results, repeats, verify, lanes, timeout)
    sys.exit(run_module(job, Report(quiet=quiet)))


@main.command()
@partial(tensor_options, module=_run_module)
@with_options(*COMPILING, *DATA)
@click.option("-o", "outputs", multiple=True, type=NamedValue("=", "FILE"), help="Writes the result.")
@click.option("--time", "repeats", type=click.IntRange(min=1), help="Calls the kernel so often, and says how long.")
@click.option(
    "--verify",
    is_flag=False,
    flag_value="",
    metavar="[NOTATION]",
    help="Checks the result against NumPy; a module's by the notation of what it computes.",
)
@click.option("--entry", help="The function of a module to call; the only one when absent.")
@click.option("--lanes", default=0, show_default=True, help="Lanes of vector loops, of a module.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds a module's program may take.")
@click.option("--explain", "explains", is_flag=True, help="Prints how the result is computed from these tensors.")
@click.option("--memory", metavar="BYTES", help="Reads .npz files, and folders of them, in parts of so much, as 1GiB.")
@with_options(*QUIET)
def run(
    request: CommandRequest,
    target: str,
    via: str,
    schedule: str | None,
    optimize: str | None,
    inputs: Pairs,
    generated: Pairs,
    outputs: Pairs,
    repeats: int | None,
    verify: str | None,
    explains: bool,
    quiet: bool,
    entry: str | None,
    lanes: int,
    timeout: float | None,
    memory: str | None,
) -> None:
    """Compiles NOTATION and runs it on files and generated tensors.

    Extents that -s does not give follow from the files, through the index variables. In the place of NOTATION a module
    of MLIR may stand, as text or a .mlir file: one of its functions is called, in a process of its own.

    \b mlir-sparse run "y(i) = A(i,j) * x(j)" -f A:CSR -i A=bcsstk13.mtx -g x=random -o y=y.ttx --time 20 --verify
    mlir-sparse run spmv.mlir --entry spmv -i A=bcsstk13.mtx -g x=random --verify "y(i) = A(i,j) * x(j)"
    """  # noqa: D301 - click reads the character, not its escape
    if verify:
        raise click.UsageError(f"expected --verify alone, as the notation says what to check, but got {verify!r}")
    if entry is not None or lanes or timeout is not None:
        raise click.UsageError("expected --entry, --lanes and --timeout with a module, but got NOTATION")
    results = {name: Path(path) for name, path in as_mapping("-o", outputs).items()}
    request.require_known("-o", results)
    sources = _sources(request, inputs, generated)
    job = Job(request, sources, results, target, via, schedule, optimize, repeats, verify is not None, explains)
    if memory is not None:
        return execute_in_parts(job, memory, Report(quiet=quiet))
    if not execute(job, Report(quiet=quiet)):
        raise _Failure("the result differs from the reference")


def _tune_machine(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Measures the machine, and leaves out the rest of the command."""
    if asked and not context.resilient_parsing:
        for line in measured_machine():
            click.echo(line)
        context.exit()


def _sources(request: CommandRequest, inputs: Pairs, generated: Pairs) -> Sources:
    makers = {name: Generator.parse(text) for name, text in as_mapping("-g", generated).items()}
    files = {name: Path(path) for name, path in as_mapping("-i", inputs).items()}
    for option, names in (("-i", files), ("-g", makers)):
        request.require_known(option, names)
    return Sources(files, makers)


@main.command()
@tensor_options
@with_options(*DATA)
@click.option("--budget", default=5.0, show_default=True, type=click.FloatRange(min=0, min_open=True), help="Seconds.")
@click.option("--formats", is_flag=True, help="Tries other storage too, as the structure of the tensors suggests.")
@click.option(
    "--try",
    "tried",
    multiple=True,
    type=NamedValue(":", "ENCODING"),
    help="Tries this storage of a tensor, or dense; may be given several times.",
)
@click.option("--fresh", is_flag=True, help="Measures though it is known from an earlier time.")
@click.option(
    "--machine",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tune_machine,
    help="Measures this machine, in place of a kernel, and keeps what plans go by.",
)
@with_options(*QUIET)
def tune(
    request: CommandRequest,
    target: str,
    inputs: Pairs,
    generated: Pairs,
    budget: float,
    formats: bool,
    tried: Pairs,
    fresh: bool,
    quiet: bool,
) -> None:
    """Finds the fastest loops for NOTATION on files and generated tensors, and remembers them.

    Kernels compiled with --schedule tuned, or schedule="tuned" in Python, are then compiled so. With --machine alone it
    measures what steps of loops take on this machine: plans of whole statements then go by that.

    \b mlir-sparse tune "y(i) = A(i,j) * x(j)" -f A:CSR -i A=bcsstk13.mtx -g x=random --budget 5 --formats
    """  # noqa: D301 - click reads the character, not its escape
    request.require_known("--try", dict(tried))
    sources = _sources(request, inputs, generated)
    question = Question(target, budget, formats, tried, fresh)
    find_fastest(request, sources, question, Report(quiet=quiet))


@main.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("destination", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--encoding", help="Storage to convert to; its order is the order of the entries in the file.")
@click.option("--dtype", help="Element type to convert to.")
@click.option("--drop-zeros", is_flag=True, help="Leave out stored zeros, which are kept otherwise.")
@click.option("--prune", is_flag=True, help="Keep the n of greatest magnitude in each group of m, for n:m storage.")
def convert(
    source: Path, destination: Path, encoding: str | None, dtype: str | None, drop_zeros: bool, prune: bool
) -> None:
    """Reads a tensor file and writes another; the suffix says which format.

    .mtx .tns .ttx, and .gz of each; .bsp.h5 with the package binsparse.
    """
    selects = drop_zeros or prune
    tensor = ms.read(source, None if selects else encoding)
    if selects:
        tensor = ms.tensor(tensor, encoding, drop_zeros=drop_zeros, prune=prune)
    if dtype is not None:
        tensor = tensor.astype(DType.of(dtype).numpy)
    ms.write(destination, tensor)
    click.echo(f"{destination}: {summary(tensor)}", err=True)


for _command in (explore, opt, runner, lit_init, update_checks, migrate, split):
    main.add_command(_command)


@main.command()
@click.argument("names", nargs=-1)
def formats(names: tuple[str, ...]) -> None:
    """Prints formats: attribute text, storage arrays, and what works with them.

    NAMES are presets, also with parameters such as "BSR(2, 2)", maps, or attribute text; all presets by default.
    """
    for text in describe_formats(names):
        click.echo(text)


@main.command()
def doctor() -> None:
    """Prints what the package found on this machine; exits with 1 where it cannot compile."""
    findings = list(examine())
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        missing = f"  (needed for {finding.needed})" if finding.needed else ""
        click.echo(f"{finding.name:<{width}}  {finding.found}{missing}")
    if any(finding.needed and finding.name == "MLIR bindings" for finding in findings):
        raise _Failure("nothing can be compiled without MLIR's bindings")
