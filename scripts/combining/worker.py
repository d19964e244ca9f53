"""Tries combinations, one a line of JSON on standard input, and answers with a line each."""

from __future__ import annotations

import json
import sys

from dialect_tests.combinations import Combination, try_combination

__all__: list[str] = []


def main() -> None:
    """Serves combinations until the input ends."""
    for line in sys.stdin:
        text, storage, out, dtype = json.loads(line)
        print(json.dumps(try_combination(Combination(text, tuple(storage), out, dtype))), flush=True)


if __name__ == "__main__":
    main()
