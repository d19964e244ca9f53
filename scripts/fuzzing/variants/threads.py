"""Variants of threads: several threads, chunks of one entry, several threads of Python, and deterministic results."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

from dialect_tests.calls import Call, Results
from dialect_tests.pieces import pieces_of
from fuzzing.variants.variant import Variant, assert_same_bits

__all__ = ["COUNTS", "VARIANTS"]

COUNTS = (1, 2, 3, 5)


def _in_chunks(threads: int) -> Variant:
    def run(call: Call, random: Random) -> Results:
        with pieces_of(1):
            return replace(call, threads=threads).results()

    return Variant(f"{threads} threads, pieces of one entry", run, share=0.25)


def _in_large_chunks(call: Call, random: Random) -> Results:
    with pieces_of(random.choice((2, 3, 7))):
        return replace(call, threads=random.choice(COUNTS[1:])).results()


def _deterministic(call: Call, random: Random) -> Results:
    with pieces_of(1):
        found = [replace(call, threads=threads, deterministic=True).results() for threads in COUNTS]
    for one in found[1:]:
        assert_same_bits(one, found[0])
    return found[0]


def _at_once(call: Call, random: Random) -> Results:
    """Makes the call from three threads at once, each on two threads."""
    with pieces_of(1), ThreadPoolExecutor(3) as pool:
        made = [pool.submit(replace(call, threads=2).results) for _ in range(3)]
        found = [one.result() for one in made]
    return found[random.randrange(3)]


VARIANTS = (
    *map(_in_chunks, COUNTS),
    Variant("threads, small pieces", _in_large_chunks),
    Variant("deterministic", _deterministic, share=0.2),
    Variant("several calls at once", _at_once, share=0.05),
)
