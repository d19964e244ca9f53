"""Kernels for GPUs run on the CPU: the same LLVM IR, its special registers, shuffles and barriers replaced.

A block is run at a time. Each of its threads has a stack of its own; where threads of a warp exchange values, each
hands over to the next one, so that all have come there before the first goes on; at a barrier to the next thread of
the block. A thread that does not come is found out: on a device the others would wait for it for good.
"""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm

__all__ = ["Emulated"]

_WARP = 32
_MOST = 1024  # threads of a block
_STACK = 1 << 16
_CONTEXT = 1 << 13  # bytes, more than any ucontext_t takes
_REGISTERS = ("tid", "ntid", "ctaid", "nctaid")
_READY, _DONE, _WAITING = 0, 1, 2

_DRIVER = f"""
@emu_contexts = global ptr null
@emu_stacks = global ptr null
@emu_slots = global [2 x [{_MOST} x i32]] zeroinitializer
@emu_counts = global [{_MOST} x i32] zeroinitializer
@emu_states = global [{_MOST} x i32] zeroinitializer
@emu_lane = global i32 0
@emu_threads = global i32 0
@emu_faults = global i32 0
@emu_kernel = global ptr null
@emu_parameters = global ptr null
@emu_shape = global [9 x i32] zeroinitializer

declare i32 @getcontext(ptr)
declare i32 @setcontext(ptr)
declare i32 @swapcontext(ptr, ptr)
declare void @makecontext(ptr, ptr, i32, ...)

define ptr @emu_context(i32 %thread) {{
  %at = sext i32 %thread to i64
  %all = load ptr, ptr @emu_contexts
  %context = getelementptr [{_CONTEXT} x i8], ptr %all, i64 %at
  ret ptr %context
}}

; The first of some threads that can go on, from one on; {_MOST} where there is none.
define i32 @emu_among(i32 %from, i32 %begin, i32 %count, i32 %wanted) {{
entry:
  %shift = sub i32 %from, %begin
  br label %look
look:
  %tried = phi i32 [ 0, %entry ], [ %more, %next ]
  %some = icmp slt i32 %tried, %count
  br i1 %some, label %try, label %none
try:
  %sum = add i32 %shift, %tried
  %iteration = srem i32 %sum, %count
  %that = add i32 %begin, %iteration
  %place = getelementptr i32, ptr @emu_states, i32 %that
  %state = load i32, ptr %place
  %goes = icmp eq i32 %state, %wanted
  br i1 %goes, label %found, label %next
next:
  %more = add i32 %tried, 1
  br label %look
found:
  ret i32 %that
none:
  ret i32 {_MOST}
}}

; The next thread: of the same warp, of the block, or the first of all where all wait; {_MOST} where all have returned.
define i32 @emu_after(i32 %from, i32 %lane) {{
entry:
  %threads = load i32, ptr @emu_threads
  %begin = and i32 %lane, -{_WARP}
  %rest = sub i32 %threads, %begin
  %short = icmp slt i32 %rest, {_WARP}
  %count = select i1 %short, i32 %rest, i32 {_WARP}
  %near = call i32 @emu_among(i32 %from, i32 %begin, i32 %count, i32 {_READY})
  %is_near = icmp slt i32 %near, {_MOST}
  br i1 %is_near, label %found, label %block
block:
  %any = call i32 @emu_among(i32 0, i32 0, i32 %threads, i32 {_READY})
  %is_any = icmp slt i32 %any, {_MOST}
  br i1 %is_any, label %found, label %stuck
stuck:
  %waiting = call i32 @emu_among(i32 0, i32 0, i32 %threads, i32 {_WAITING})
  %is_waiting = icmp slt i32 %waiting, {_MOST}
  br i1 %is_waiting, label %open, label %found
open:
  %gone = call i32 @emu_among(i32 0, i32 0, i32 %threads, i32 {_DONE})
  %lost = icmp slt i32 %gone, {_MOST}
  %fault = zext i1 %lost to i32
  %faults = load i32, ptr @emu_faults
  %all = or i32 %faults, %fault
  store i32 %all, ptr @emu_faults
  br label %wake
wake:
  %thread = phi i32 [ 0, %open ], [ %following, %wake ]
  %place = getelementptr i32, ptr @emu_states, i32 %thread
  %state = load i32, ptr %place
  %waits = icmp eq i32 %state, {_WAITING}
  %woken = select i1 %waits, i32 {_READY}, i32 %state
  store i32 %woken, ptr %place
  %following = add i32 %thread, 1
  %more = icmp slt i32 %following, %threads
  br i1 %more, label %wake, label %found
found:
  %next = phi i32 [ %near, %entry ], [ %any, %block ], [ {_MOST}, %stuck ], [ %waiting, %wake ]
  ret i32 %next
}}

define void @emu_barrier() noinline {{
  %lane = load i32, ptr @emu_lane
  %place = getelementptr i32, ptr @emu_states, i32 %lane
  store i32 {_WAITING}, ptr %place
  %next = call i32 @emu_after(i32 %lane, i32 %lane)
  store i32 %next, ptr @emu_lane
  %here = call ptr @emu_context(i32 %lane)
  %there = call ptr @emu_context(i32 %next)
  %swapped = call i32 @swapcontext(ptr %here, ptr %there)
  ret void
}}

define void @emu_start() {{
  %lane = load i32, ptr @emu_lane
  %kernel = load ptr, ptr @emu_kernel
  %parameters = load ptr, ptr @emu_parameters
  call void %kernel(ptr %parameters)
  %place = getelementptr i32, ptr @emu_states, i32 %lane
  store i32 {_DONE}, ptr %place
  %next = call i32 @emu_after(i32 %lane, i32 %lane)
  store i32 %next, ptr @emu_lane
  %context = call ptr @emu_context(i32 %next)
  %gone = call i32 @setcontext(ptr %context)
  unreachable
}}

define i32 @emu_shuffle(i32 %mask, i32 %value, i32 %offset, i32 %clamp) noinline {{
  %lane = load i32, ptr @emu_lane
  %source = xor i32 %lane, %offset
  %got = call i32 @emu_exchange(i32 %value, i32 %source)
  ret i32 %got
}}

define i32 @emu_broadcast(i32 %mask, i32 %value, i32 %number, i32 %clamp) noinline {{
  %lane = load i32, ptr @emu_lane
  %begin = and i32 %lane, -{_WARP}
  %source = add i32 %begin, %number
  %got = call i32 @emu_exchange(i32 %value, i32 %source)
  ret i32 %got
}}

define i32 @emu_exchange(i32 %value, i32 %source) noinline {{
  %lane = load i32, ptr @emu_lane
  %counter = getelementptr i32, ptr @emu_counts, i32 %lane
  %count = load i32, ptr %counter
  %side = and i32 %count, 1
  %mine = getelementptr [{_MOST} x i32], ptr @emu_slots, i32 %side, i32 %lane
  store i32 %value, ptr %mine
  %counted = add i32 %count, 1
  store i32 %counted, ptr %counter
  %after = add i32 %lane, 1
  %next = call i32 @emu_after(i32 %after, i32 %lane)
  store i32 %next, ptr @emu_lane
  %here = call ptr @emu_context(i32 %lane)
  %there = call ptr @emu_context(i32 %next)
  %swapped = call i32 @swapcontext(ptr %here, ptr %there)
  %theirs = getelementptr i32, ptr @emu_counts, i32 %source
  %reached = load i32, ptr %theirs
  %late = icmp slt i32 %reached, %counted
  %fault = zext i1 %late to i32
  %faults = load i32, ptr @emu_faults
  %all = or i32 %faults, %fault
  store i32 %all, ptr @emu_faults
  %other = getelementptr [{_MOST} x i32], ptr @emu_slots, i32 %side, i32 %source
  %got = load i32, ptr %other
  ret i32 %got
}}

; Runs the threads of a block.
define void @emu_block(ptr %kernel, ptr %parameters, i32 %threads) {{
entry:
  store ptr %kernel, ptr @emu_kernel
  store ptr %parameters, ptr @emu_parameters
  store i32 %threads, ptr @emu_threads
  br label %make
make:
  %lane = phi i32 [ 0, %entry ], [ %following, %make ]
  %state = getelementptr i32, ptr @emu_states, i32 %lane
  store i32 {_READY}, ptr %state
  %count = getelementptr i32, ptr @emu_counts, i32 %lane
  store i32 0, ptr %count
  %context = call ptr @emu_context(i32 %lane)
  %got = call i32 @getcontext(ptr %context)
  %number = sext i32 %lane to i64
  %stacks = load ptr, ptr @emu_stacks
  %stack = getelementptr [{_STACK} x i8], ptr %stacks, i64 %number
  %at = getelementptr i8, ptr %context, i64 16
  store ptr %stack, ptr %at
  %size = getelementptr i8, ptr %context, i64 32
  store i64 {_STACK}, ptr %size
  %link = getelementptr i8, ptr %context, i64 8
  store ptr null, ptr %link
  call void (ptr, ptr, i32, ...) @makecontext(ptr %context, ptr @emu_start, i32 0)
  %following = add i32 %lane, 1
  %more = icmp slt i32 %following, %threads
  br i1 %more, label %make, label %run
run:
  store i32 0, ptr @emu_lane
  %main = call ptr @emu_context(i32 {_MOST})
  %first = call ptr @emu_context(i32 0)
  %back = call i32 @swapcontext(ptr %main, ptr %first)
  ret void
}}

define i32 @emu.sreg.tid.x() {{
  %linear = load i32, ptr @emu_lane
  %x = load i32, ptr @emu_shape
  %at = srem i32 %linear, %x
  ret i32 %at
}}

define i32 @emu.sreg.tid.y() {{
  %linear = load i32, ptr @emu_lane
  %x = load i32, ptr @emu_shape
  %row = sdiv i32 %linear, %x
  ret i32 %row
}}

define i32 @emu.sreg.tid.z() {{
  ret i32 0
}}

; What processors without them need a library for.
define weak bfloat @__truncsfbf2(float %value) {{
  %bits = bitcast float %value to i32
  %ordered = fcmp ord float %value, 0.0
  %upper = lshr i32 %bits, 16
  %odd = and i32 %upper, 1
  %bias = add i32 %odd, 32767
  %rounded = add i32 %bits, %bias
  %kept = select i1 %ordered, i32 %rounded, i32 2143289344
  %shifted = lshr i32 %kept, 16
  %half = trunc i32 %shifted to i16
  %result = bitcast i16 %half to bfloat
  ret bfloat %result
}}
"""


def _register(name: str, axis: int, place: int) -> str:
    address = f"getelementptr (i32, ptr @emu_shape, i32 {place})"
    return f"define i32 @emu.sreg.{name}.{'xyz'[axis]}() {{\n  %v = load i32, ptr {address}\n  ret i32 %v\n}}\n"


def _wrapper(name: str, kinds: Sequence[str]) -> str:
    """Returns a function that calls a kernel with what its parameters point to."""
    lines = [f"define void @emu_call_{name}(ptr %given) {{"]
    for number, kind in enumerate(kinds):
        lines.append(f"  %p{number} = getelementptr ptr, ptr %given, i32 {number}")
        lines.append(f"  %a{number} = load ptr, ptr %p{number}")
        lines.append(f"  %v{number} = load {kind}, ptr %a{number}")
    arguments = ", ".join(f"{kind} %v{number}" for number, kind in enumerate(kinds))
    return "\n".join([*lines, f"  call void @{name}({arguments})", "  ret void", "}", ""])


@cache
def _room(size: int) -> Any:
    """Returns room for each thread of a block, and for who runs it; memory that is never touched is none."""
    return (ctypes.c_char * (size * (_MOST + 1))).from_buffer(mmap.mmap(-1, size * (_MOST + 1)))


class Emulated:
    """The kernels of a module, as functions of this process.

    Args:
        text: the LLVM IR that PTX is made of.
    """

    def __init__(self, text: str) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        kernels = re.findall(r"define ptx_kernel void @([\w$.]+)\((.*?)\)", text)
        body = re.sub(r"^target datalayout.*$", "", text, flags=re.MULTILINE)
        body = re.sub(r"^declare .*@llvm\.nvvm\..*$", "", body, flags=re.MULTILINE)
        body = body.replace("define ptx_kernel void", "define void").replace("@llvm.nvvm.read.ptx.sreg.", "@emu.sreg.")
        body = body.replace("@llvm.nvvm.shfl.sync.bfly.i32(", "@emu_shuffle(")
        body = body.replace("@llvm.nvvm.shfl.sync.idx.i32(", "@emu_broadcast(")
        body = re.sub(r"@llvm\.nvvm\.barrier\S*\(i32 0\)|@llvm\.nvvm\.barrier0\(\)", "@emu_barrier()", body)
        body = body.replace("@__nv_", "@")  # CUDA's names of functions are those of the C library, but for this
        assert "llvm.nvvm" not in body, "a part of NVVM that is not emulated"
        parts = [body, _DRIVER]
        parts += [_register(name, axis, 3 * at + axis) for at, name in enumerate(_REGISTERS[1:]) for axis in range(3)]
        parts += [_wrapper(name, [kind.split()[0] for kind in kinds.split(", ")]) for name, kinds in kernels]
        module = llvm.parse_assembly("\n".join(parts))
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=0, jit=True
        )
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        for name, size in (("emu_contexts", _CONTEXT), ("emu_stacks", _STACK)):
            self._at(name, ctypes.c_void_p).value = ctypes.addressof(_room(size))
        kinds = {name: [re.search(r"\balign (\d+)", kind) for kind in given.split(", ")] for name, given in kernels}
        self._aligned = {name: [int(one[1]) if one else 1 for one in found] for name, found in kinds.items()}

    def _at(self, name: str, kind: Any) -> Any:
        return kind.from_address(self._engine.get_global_value_address(name))

    def launch(self, kernel: str, grid: Sequence[int], block: Sequence[int], parameters: Sequence[int]) -> None:
        """Runs all blocks of a grid, one after another.

        Args:
            kernel: its name.
            grid: blocks along x, y and z.
            block: threads along x, y and z; one along z.
            parameters: addresses and numbers, eight bytes each.
        """
        for address, aligned in zip(parameters, self._aligned[kernel], strict=True):
            assert address % aligned == 0, "a device would refuse to read several elements at an address like this"
        assert block[2] == 1
        values = [ctypes.c_int64(value) for value in parameters]
        given = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        call = self._engine.get_function_address(f"emu_call_{kernel}")
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(
            self._engine.get_function_address("emu_block")
        )
        shape, threads = self._at("emu_shape", ctypes.c_int32 * 9), block[0] * block[1]
        shape[0:3], shape[6:9] = list(block), list(grid)
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    shape[3:6] = [x, y, z]
                    run(call, ctypes.addressof(given), threads)
        faults = self._at("emu_faults", ctypes.c_int32)
        assert faults.value == 0, "a thread did not come where others exchange values with it, or wait for it"
