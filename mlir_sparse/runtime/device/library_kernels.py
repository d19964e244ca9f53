"""Small kernels in PTX for use with vendor libraries: an elementwise product, and 2:4 storage to dense.

They are written by hand, so that they need the driver only; each thread computes one entry.
"""

from __future__ import annotations

from functools import lru_cache

from mlir_sparse import _cuda
from mlir_sparse.device import DeviceArray, current_stream
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.errors import UnsupportedError

__all__ = ["expand", "expand_ptx", "scale", "scale_ptx"]

_THREADS = 256
_HEAD = """.version 7.0
.target sm_80
.address_size 64

.visible .entry {name}(.param .u64 p_target, .param .u64 p_source, .param .u64 p_places, .param .u64 p_count)
{{
  .reg .pred %done;
  .reg .b16 %h<4>;
  .reg .b32 %r<4>;
  .reg .b64 %at, %span, %count, %target, %source, %place, %group, %step;
  .reg .f32 %f<8>;
  .reg .f64 %d<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %span, %r1, %r2;
  cvt.u64.u32 %at, %r3;
  add.u64 %at, %at, %span;
  ld.param.u64 %count, [p_count];
  setp.ge.u64 %done, %at, %count;
  @%done bra DONE;
  ld.param.u64 %target, [p_target];
  ld.param.u64 %source, [p_source];
  cvta.to.global.u64 %target, %target;
  cvta.to.global.u64 %source, %source;
"""
_TAIL = "DONE:\n  ret;\n}\n"

_REGISTERS = {16: "%h", 32: "%f", 64: "%d"}


def _real_scale(dtype: DType) -> str:
    """Returns loads of two numbers, their product, and its store."""
    moved = "b16" if dtype.bits == 16 else dtype.name
    a, b, c = (f"{_REGISTERS[dtype.bits]}{number}" for number in range(3))
    product = f"mul.rn.{dtype} {a}, {a}, {b};"
    if dtype.bits == 16:  # the first chips with bf16 have only a fused multiply-add for it; -0 is added
        product = f"mov.b16 {c}, 0x8000;\n  fma.rn.{dtype} {a}, {a}, {b}, {c};"
    lines = (
        f"ld.global.{moved} {a}, [%target];",
        f"ld.global.{moved} {b}, [%source];",
        product,
        f"st.global.{moved} [%target], {a};",
    )
    return "\n  ".join(lines) + "\n"


def _complex_scale(dtype: DType) -> str:
    kind = dtype.part
    a, b, c, d, e, f = (f"{_REGISTERS[kind.bits]}{number}" for number in range(6))
    lines = (
        f"ld.global.v2.{kind} {{{a}, {b}}}, [%target];",
        f"ld.global.v2.{kind} {{{c}, {d}}}, [%source];",
        f"mul.rn.{kind} {e}, {a}, {c};",
        f"mul.rn.{kind} {f}, {b}, {d};",
        f"sub.rn.{kind} {e}, {e}, {f};",
        f"mul.rn.{kind} {f}, {a}, {d};",
        f"fma.rn.{kind} {f}, {b}, {c}, {f};",
        f"st.global.v2.{kind} [%target], {{{e}, {f}}};",
    )
    return "\n  ".join(lines) + "\n"


def scale_ptx(dtype: DType) -> str:
    """Returns a kernel for an elementwise product in place.

    Raises:
        UnsupportedError: for integers.
    """
    if dtype.is_exact:
        known = ", ".join(str(known) for known in DTYPES if not known.is_exact)
        raise UnsupportedError(f"expected an element type of {known}, but got {dtype}")
    body = _complex_scale(dtype) if dtype.is_complex else _real_scale(dtype)
    addresses = "".join(f"  mad.lo.u64 {base}, %at, {dtype.itemsize}, {base};\n" for base in ("%target", "%source"))
    return _HEAD.format(name=f"scale_{dtype.name}") + addresses + "  " + body + _TAIL


def expand_ptx(crd_bits: int) -> str:
    """Returns a kernel that scatters numbers of 2 bytes, 2 of every 4 elements, to their coordinates."""
    load = {
        8: "ld.global.u8 %h0, [%place];\n  cvt.u64.u16 %step, %h0;",
        16: "ld.global.u16 %h0, [%place];\n  cvt.u64.u16 %step, %h0;",
        32: "ld.global.u32 %r1, [%place];\n  cvt.u64.u32 %step, %r1;",
        64: "ld.global.u64 %step, [%place];",
    }[crd_bits]
    body = f"""  ld.param.u64 %place, [p_places];
  cvta.to.global.u64 %place, %place;
  mad.lo.u64 %place, %at, {crd_bits // 8}, %place;
  {load}
  shr.u64 %group, %at, 1;
  mad.lo.u64 %step, %group, 4, %step;
  mad.lo.u64 %target, %step, 2, %target;
  mad.lo.u64 %source, %at, 2, %source;
  ld.global.b16 %h1, [%source];
  st.global.b16 [%target], %h1;
"""
    return _HEAD.format(name=f"expand_{crd_bits}") + body + _TAIL


@lru_cache(maxsize=32)
def _function(text: str, name: str) -> _cuda.Function:
    return _cuda.Function(_cuda.Module(text, name), name)


def _launch(function: _cuda.Function, target: DeviceArray, source: DeviceArray, places: int, count: int) -> None:
    grid = (-(-count // _THREADS), 1, 1)
    addresses = (target.use(writes=True), source.use(), places, count)
    function.launch(target.device.number, grid, (_THREADS, 1, 1), 0, current_stream(), addresses)


def scale(target: DeviceArray, source: DeviceArray) -> None:
    """Multiplies an array elementwise by another of the same type, in place."""
    dtype = DType.of(target.dtype)
    _launch(_function(scale_ptx(dtype), f"scale_{dtype.name}"), target, source, 0, target.size)


def expand(target: DeviceArray, values: DeviceArray, coordinates: DeviceArray) -> None:
    """Scatters the values of 2:4 storage to a dense matrix of zeros, whose number of columns is a multiple of 4."""
    bits = coordinates.dtype.itemsize * 8
    _launch(_function(expand_ptx(bits), f"expand_{bits}"), target, values, coordinates.use(), values.size)
