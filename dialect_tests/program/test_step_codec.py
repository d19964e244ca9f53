"""Programs as data: what is computed of fields is not written, since another process computes it otherwise."""

from __future__ import annotations

import dataclasses

from mlir_sparse.encoding import TensorType
from mlir_sparse.program import Conversion, ProgramSteps, read_steps, write_steps


def test_types_that_keep_their_hash_are_written_as_others() -> None:
    kind = TensorType.parse("f64[?,?] CSR")
    step = Conversion("A.converted", "A", kind, False, "tests")
    program = ProgramSteps((step,), "A.converted", kind, "one step", False)
    text = write_steps(program, ())
    hash(kind)
    assert write_steps(program, ()) == text
    assert read_steps(text, ()) == program
    assert {field.name for field in dataclasses.fields(kind) if field.init} == {"dtype", "shape", "encoding"}
