"""Records of tuning in a folder of the user's."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlir_sparse import pipeline
from mlir_sparse._native import __version__
from mlir_sparse.classes import dataclass
from mlir_sparse.disk import write_whole
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Apply, Fold, walk
from mlir_sparse.plan.schedule import Schedule
from mlir_sparse.process import settings
from mlir_sparse.spec import KernelSpec
from mlir_sparse.tensor import SparseTensor

__all__ = ["TuningKey", "TuningRecord", "tuned"]

# The version of the format below.
_VERSION = 2


@dataclass(frozen=True, slots=True)
class TuningRecord:
    """The outcome of tuning for a problem.

    Args:
        schedule: the schedule of the kernel.
        threads: the greatest number of threads of a call; None for the process' limit.
        encodings: the better storage of some operands; "dense" for an array.
        rows: the rows of the table.
    """

    schedule: Schedule
    threads: int | None
    encodings: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class TuningKey:
    """The key of a record: a kernel for operands of similar extents, on one kind of machine.

    Args:
        kernel: the notation, the types without widths, the machine and the version, as text.
        data: the extents of the operands and their entries a row, rounded to powers of two; "" for any.
        asked: the argument `formats` of `tune`, as text.
    """

    kernel: str
    data: str = ""
    asked: str = ""

    @staticmethod
    def of(spec: KernelSpec, values: Mapping[str, Any] | None = None, asked: str = "") -> TuningKey:
        """Returns the problem of a kernel on operands like these, or on any operands."""
        nodes = tuple(walk(spec.assignment.value))
        applied = [str(node.operator) for node in nodes if isinstance(node, Apply)]
        folded = [str(node.monoid) for node in nodes if isinstance(node, Fold)]
        types = [f"{name}: {_without_widths(kind)}" for name, kind in spec.inputs]
        parts = (spec.explicit, *applied, *folded, *types, _without_widths(spec.output))
        kernel = "\n".join(map(str, (*parts, pipeline.machine_name(), __version__)))
        data = "" if values is None else " ".join(f"{name}:{_extents(values[name])}" for name, _ in spec.inputs)
        return TuningKey(kernel, data, asked)

    def found(self) -> TuningRecord | None:
        """Returns the outcome for this problem, the latest for any extents; None without a record."""
        folder = _folder()
        if folder is None:
            return None
        names = [self._name] if self.data else sorted(folder.glob(f"{self._stem}-*.json"), key=_written, reverse=True)
        return next((found for name in names if (found := self._read(folder / name)) is not None), None)

    def keep(self, found: TuningRecord) -> None:
        """Records an outcome, if the folder can be written."""
        folder = _folder()
        if folder is None:
            return
        text = json.dumps(
            {
                "version": _VERSION,
                "kernel": self.kernel,
                "data": self.data,
                "asked": self.asked,
                "schedule": str(found.schedule),
                "threads": found.threads,
                "encodings": dict(found.encodings),
                "rows": list(found.rows),
            },
            indent=1,
        )
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(folder / self._name, text.encode(), private=True)

    def _read(self, path: Path) -> TuningRecord | None:
        """Returns the record in a file; None for a damaged file, or one of another problem."""
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            asked = read["version"], read["kernel"], read["asked"]
            if asked != (_VERSION, self.kernel, self.asked) or (self.data and read["data"] != self.data):
                return None
            schedule, threads = Schedule.parse(read["schedule"]), read["threads"]
            if threads is not None and (type(threads) is not int or threads < 1):
                return None
            return TuningRecord(schedule, threads, dict(read["encodings"]), tuple(map(dict, read["rows"])))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    @property
    def _stem(self) -> str:
        return hashlib.sha256(f"{self.kernel}\n{self.asked}".encode()).hexdigest()[:24]

    @property
    def _name(self) -> str:
        return f"{self._stem}-{hashlib.sha256(self.data.encode()).hexdigest()[:12]}.json"


def tuned(spec: KernelSpec, values: Mapping[str, Any] | None) -> TuningRecord:
    """Returns the recorded outcome for a kernel.

    Args:
        spec: the kernel.
        values: its operands by name, if known: a record for similar extents is preferred to the latest one.

    Raises:
        UnsupportedError: without a record.
    """
    anywhere = TuningKey.of(spec)
    found = (TuningKey.of(spec, values).found() if values is not None else None) or anywhere.found()
    if found is None:
        raise UnsupportedError(
            f"expected a kernel that was tuned for schedule='tuned', but got {spec} with no record on this machine: "
            f"call ms.tune with the notation and its operands, or leave the schedule out"
        )
    return found


def _folder() -> Path | None:
    """Returns the folder of records; None if none are kept."""
    folder = settings.user_folder()
    return None if folder is None else Path(folder) / "tuned"


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _without_widths(kind: TensorType) -> TensorType:
    """Returns a type without widths of 32 or 64 bits; narrower widths stay."""
    if kind.encoding is None:
        return kind
    widths = [width if 0 < width < 32 else 0 for width in (kind.encoding.pos_width, kind.encoding.crd_width)]
    return replace(kind, encoding=kind.encoding.with_widths(*widths))


def _extents(value: Any) -> str:
    """Returns the extents of a tensor and its entries along the first axis, each rounded up to a power of two."""
    sizes = "x".join(str(int(size).bit_length()) for size in value.shape)
    if not isinstance(value, SparseTensor) or not value.shape:
        return sizes
    return f"{sizes}/{(value.nse // max(1, value.shape[0])).bit_length()}"
