"""`mlir-sparse run --memory`: statements on files that are read in parts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

import mlir_sparse as ms
from mlir_sparse.compile.tuning.progress_bar import bar
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.process.available_memory import bytes_of, in_units
from mlir_sparse.tensor.files.array_groups import is_hdf5
from mlir_sparse.tensor.files.parquet_source import is_parquet
from mlir_sparse.tensor.files.read_write import is_read_in_blocks
from mlir_sparse.tools.run_command import Job, check_outputs, write_results
from mlir_sparse.tools.run_operands import load
from mlir_sparse.tools.run_report import Report, summary

__all__ = ["execute_in_parts"]


def execute_in_parts(job: Job, memory: str, report: Report) -> None:
    """Runs a job on files of which at most so many bytes are read at a time: `.npz`, HDF5, Zarr, Parquet, folders.

    Where there is none of these, the largest text file of entries is read so.

    Raises:
        UnsupportedError: for options that need whole tensors, and statements that cannot be cut.
    """
    nbytes = bytes_of(memory, "--memory")
    _refuse_options(job)
    check_outputs(job)
    files = job.sources.files
    for path in files.values():
        path.stat()  # one that is not there is named, in place of what was found among the others
    in_parts = [name for name, path in files.items() if _is_in_parts(path)]
    texts = [name for name, path in files.items() if path.is_file() and is_read_in_blocks(str(path))]
    if not in_parts and not texts:
        raise UnsupportedError(
            "expected -i NAME=FILE of an .npz, HDF5, Zarr or Parquet file, of Matrix Market or .tns text, or a folder "
            "of files, with --memory, but got none"
        )
    opened = {
        name: ms.source(files[name]) for name in in_parts or [max(texts, key=lambda name: files[name].stat().st_size)]
    }
    given = set(opened) & set(job.request.encodings)
    if given:
        raise UnsupportedError(
            f"expected no -f {min(given)} with --memory, as its file is read as stored: leave it out"
        )
    operands = load(job.request, job.sources, report, opened)
    for name, tensor in operands.items():
        report.line(name, _shown(name, tensor, job.sources.files))
    start = time.perf_counter()
    with bar("reading and computing", False if report.quiet else None) as share:
        result = ms.stream(
            job.request.assignment,
            tensors=operands,
            out=job.request.output,
            memory=nbytes,
            optimize=job.optimize,
            progress=lambda done, total: share(done / max(1, total)),
        )
    results = result if isinstance(result, tuple) else (result,)
    for name, one in zip(job.request.targets, results, strict=True):
        report.line(name, summary(one))
    report.line("stream", f"{time.perf_counter() - start:.3g} s, parts of all files in {in_units(nbytes)}")
    write_results(job, dict(zip(job.request.targets, results, strict=True)), report)


def _is_in_parts(path: Path) -> bool:
    name = str(path)
    return path.is_dir() or path.suffix.lower() == ".npz" or is_parquet(name) or (path.is_file() and is_hdf5(name))


def _refuse_options(job: Job) -> None:
    asked = {
        "--target": job.target != "cpu",
        "--via": job.via != "auto",
        "--schedule": job.schedule is not None,
        "--time": job.repeats is not None,
        "--verify": job.verify,
        "--explain": job.explains,
    }
    for option, is_given in asked.items():
        if is_given:
            raise click.UsageError(f"expected no {option} with --memory, which computes in pieces, but got it")


def _shown(name: str, tensor: Any, files: Mapping[str, Path]) -> str:
    if not isinstance(tensor, ms.TensorSource):
        return summary(tensor)
    shape = "x".join(map(str, tensor.shape))
    return f"{shape} of {tensor.type}, in parts along dimension {tensor.axis}, from {files[name]}"
