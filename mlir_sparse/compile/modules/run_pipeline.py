"""Pipelines on modules of users, from Python: in a fork of this process, which has the passes that users wrote."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

from mlir_sparse.compile.modules.user_module import content_of
from mlir_sparse.errors import CompileError, CompilerCrash, ModuleError, SparseError
from mlir_sparse.pipeline.opt_options import OptOptions
from mlir_sparse.pipeline.pass_values import pass_items
from mlir_sparse.pipeline.reproducer import write_reproducer
from mlir_sparse.process.child_process import in_child
from mlir_sparse.process.forks import importing
from mlir_sparse.text.given_arguments import several_of, text_of
from mlir_sparse.text.module_text import decoded_module

__all__ = ["opt"]


def opt(source: Any, passes: str | Sequence[str]) -> str:
    """Returns the text of a module after passes: MLIR's, this package's, and those of `register_pass`.

    They run in a fork of this process: a crash is an exception here, and what passes of the user's change outside of
    the module is not seen here.

    Args:
        source: anything that `module` takes.
        passes: a pipeline, `builtin.module(...)`, or a list of passes in MLIR's syntax, each without what it is nested
            in, such as `["canonicalize", "sparsification{parallelization-strategy=none}"]`.

    Raises:
        OperandError: for what is neither a module nor passes.
        ModuleError: for a module that does not parse or verify.
        CompileError: for passes that are not there, and if one fails.
        CompilerCrash: if one kills the process.

    >>> print(opt("func.func @f() { return }", ["canonicalize"]))
    module {
      func.func @f() {
        return
      }
    }
    """
    name, content = content_of(source)
    if isinstance(passes, str):
        inside = text_of(passes, "a pipeline").strip().removeprefix("builtin.module(")
        items = list(pass_items(inside.removesuffix(")") if inside != passes.strip() else inside))
    else:
        items = [text_of(one, "a pass") for one in several_of(passes, "a pipeline as text, or a list of passes")]
    end = in_child(lambda: (0, pickle.dumps(_transformed(content, name, items))))
    if end.status:
        pipeline = f"builtin.module({','.join(items)})"
        raise CompilerCrash(
            f"expected MLIR to run passes on {name}, but its process {end.how}",
            kernel=name,
            pipeline=pipeline,
            reproducer=write_reproducer(content, pipeline, name),
        )
    found = pickle.loads(end.content)
    if isinstance(found, SparseError):
        raise found
    text: str = found
    return text


def _transformed(content: bytes, name: str, items: Sequence[str]) -> str | SparseError:
    """Returns the text after passes, or the error to raise."""
    with importing():
        from mlir_sparse.pipeline.transform_module import nested, transform  # loads MLIR: in the fork alone

    out, said = io.StringIO(), io.StringIO()
    try:
        options = OptOptions(items=tuple(map(nested, items)))
        if transform(decoded_module(content, name), name, options, out, said):
            return out.getvalue().rstrip("\n")
    except SparseError as error:
        return error
    kind = CompileError if items else ModuleError
    return kind(f"expected MLIR to run the passes on {name}, but got:\n{said.getvalue().rstrip()}")
