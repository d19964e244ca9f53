"""Computations as users ask for them, as values: what must give the same is made of one by `replace`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mlir_sparse as ms
from mlir_sparse.notation import Apply, Assignment, Comprehension, Fold, walk
from mlir_sparse.notation import Call as FunctionCall

__all__ = ["Call", "Results", "Trial", "densified"]

Array = np.ndarray[Any, Any]
Results = tuple[Any, ...]

# Arrays of more elements are kept in a file beside a script that is to be pasted.
_LONG = 400


@dataclass(frozen=True, slots=True)
class Call:
    """What `ms.evaluate` is given.

    Args:
        program: text, or what it parses to.
        operands: tensors and operators by name.
        out: the storage of the result, or an array for it.
        semiring: the name of a semiring.
        threads: how many threads the call may take.
        deterministic: whether it is to give the same bits for any number of threads.
    """

    program: Assignment | Comprehension | str
    operands: Mapping[str, Any]
    out: Any = None
    semiring: str | None = None
    threads: int | None = None
    deterministic: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Returns the arguments beside program and operands."""
        given = {"out": self.out, "semiring": self.semiring, "threads": self.threads}
        given = {name: value for name, value in given.items() if value is not None}
        return given | ({"deterministic": True} if self.deterministic else {})

    @property
    def tensors(self) -> dict[str, Any]:
        """Returns the operands that are tensors."""
        return {n: v for n, v in self.operands.items() if isinstance(v, ms.SparseTensor | np.ndarray)}

    @property
    def is_about_entries(self) -> bool:
        """Returns whether the result depends on what is stored, and not on values alone."""
        if self.semiring is not None or not isinstance(self.program, Assignment):
            return True
        return any(
            isinstance(node, Apply | Fold) or (isinstance(node, FunctionCall) and node.function == "stored")
            for node in walk(self.program.value)
        )

    def results(self) -> Results:
        """Returns what `ms.evaluate` gives, as a tuple also of one."""
        found = ms.evaluate(self.program, tensors=self.operands, **self.options)
        return found if isinstance(found, tuple) else (found,)

    def script(self) -> str:
        """Returns Python that makes the call anew, to be pasted; what is long is kept in a file."""
        lines = ["import numpy as np, ml_dtypes, mlir_sparse as ms", "from numpy import inf, nan", "tensors = {}"]
        lines += [f"tensors[{name!r}] = {_operand_text(value)}" for name, value in self.operands.items()]
        options = ", ".join(f"{name}={_option_text(value)}" for name, value in self.options.items())
        lines += [f"text, options = {str(self.program)!r}, dict({options})"]
        return "\n".join([*lines, "print(ms.evaluate(text, tensors=tensors, **options))"])


@dataclass(frozen=True, slots=True)
class Trial:
    """A call, and what its results must be.

    Args:
        call: the call.
        judge: raises AssertionError for other results.
    """

    call: Call
    judge: Callable[[Results], None]

    def run(self) -> Results:
        """Returns the results of the call, judged.

        Raises:
            AssertionError: for wrong ones, with a script to paste.
        """
        found = self.call.results()
        try:
            self.judge(found)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.call.script()}") from error
        return found


def densified(result: Any) -> Array:
    """Returns a result as an array."""
    return result.to_numpy() if isinstance(result, ms.SparseTensor) else np.asarray(result)


def _option_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return _operand_text(value)
    return repr(value if isinstance(value, str | int) else str(value))


def _operand_text(value: Any) -> str:
    if isinstance(value, ms.SparseTensor):
        coordinates, values = value.to_coo()
        stored = ", ".join(map(_operand_text, (np.asarray(coordinates), np.asarray(values))))
        return f"ms.tensor(({stored}), {str(value.encoding)!r}, shape={value.shape})"
    if isinstance(value, np.ndarray):
        dtype = "ml_dtypes.bfloat16" if value.dtype.name == "bfloat16" else repr(value.dtype.name)
        if value.size > _LONG:
            return f"np.load({_kept(value)!r}).view({dtype})"
        items = value.astype(np.float64) if value.dtype.name == "bfloat16" else value
        return f"np.array({items.ravel().tolist()}, {dtype}).reshape({value.shape})"
    return f"...  # {value!r}"


def _kept(array: Array) -> str:
    folder = Path(tempfile.gettempdir()) / "mlir_sparse_fuzz"
    folder.mkdir(exist_ok=True)
    plain = array.view(np.int16) if array.dtype.name == "bfloat16" else array
    path = folder / f"{abs(hash((array.tobytes(), array.shape))):016x}.npy"
    np.save(path, plain)
    return str(path)
