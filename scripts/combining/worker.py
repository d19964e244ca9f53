"""Tries combinations, one a line of JSON on standard input, and answers with a line each."""

from __future__ import annotations

import faulthandler
import json
import sys

from dialect_tests.combinations import Combination, try_combination

__all__: list[str] = []

# Seconds; a combination takes one at most.
_LONG = 100.0


def main() -> None:
    """Serves combinations until the input ends."""
    for line in sys.stdin:
        faulthandler.dump_traceback_later(_LONG)  # where it hangs, before the process is killed for it
        text, storage, out, dtype = json.loads(line)
        print(json.dumps(try_combination(Combination(text, tuple(storage), out, dtype))), flush=True)
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
