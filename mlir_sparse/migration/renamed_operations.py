"""Operations that have another name today and the same syntax."""

from __future__ import annotations

__all__ = ["RENAMED", "RENAMED_AT_STATEMENTS"]

# The names that are no name of anything else.
RENAMED = {
    "sparse_tensor.release": "bufferization.dealloc_tensor",  # LLVM 14
    "sparse_tensor.indices_buffer": "sparse_tensor.coordinates_buffer",  # 16
    "sparse_tensor.to_slice_offset": "sparse_tensor.slice.offset",
    "sparse_tensor.to_slice_stride": "sparse_tensor.slice.stride",
    "linalg.tensor_collapse_shape": "tensor.collapse_shape",
    "builtin.func": "func.func",  # 14
    "std.call": "func.call",
    "std.return": "func.return",
    "std.select": "arith.select",
    "std.br": "cf.br",
    "std.cond_br": "cf.cond_br",
    "arith.maxf": "arith.maximumf",  # 17
    "arith.minf": "arith.minimumf",
    "llvm.mlir.null": "llvm.mlir.zero",
}

_ARITH = [
    "addf", "addi", "andi", "bitcast", "cmpf", "cmpi", "constant", "divf", "fptosi", "fptoui", "maxsi", "maxui",
    "minsi", "minui", "mulf", "muli", "negf", "ori", "remf", "select", "sitofp", "subf", "subi", "uitofp", "xori",
]  # fmt: skip
# The standard dialect of LLVM 13, whose names had no prefix. They start a statement or follow `=`.
RENAMED_AT_STATEMENTS = {
    **{name: f"arith.{name}" for name in _ARITH},
    "absf": "math.absf",
    "assert": "cf.assert",
    "br": "cf.br",
    "ceilf": "math.ceil",
    "cond_br": "cf.cond_br",
    "divi_signed": "arith.divsi",
    "divi_unsigned": "arith.divui",
    "floorf": "math.floor",
    "fpext": "arith.extf",
    "fptrunc": "arith.truncf",
    "func": "func.func",
    "index_cast": "arith.index_cast",
    "maxf": "arith.maximumf",
    "minf": "arith.minimumf",
    "remi_signed": "arith.remsi",
    "remi_unsigned": "arith.remui",
    "sexti": "arith.extsi",
    "shift_left": "arith.shli",
    "shift_right_signed": "arith.shrsi",
    "shift_right_unsigned": "arith.shrui",
    "trunci": "arith.trunci",
    "zexti": "arith.extui",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
}
