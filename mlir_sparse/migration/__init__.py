"""Files of MLIR that older releases of LLVM read, in the spelling of today.

`migrated` takes the text of a file and returns it with each change: encodings of LLVM 13 to 21, operations and types
that were renamed or changed their syntax, and the commands of RUN lines. It reads tokens, so that what stands in
comments and strings stays as it is, and a text that has nothing old comes back as it was.
"""

from mlir_sparse.migration.migrate_text import Migration, migrated
from mlir_sparse.migration.operation_facts import LeftAsItIs, SpellingChange

__all__ = ["LeftAsItIs", "Migration", "SpellingChange", "migrated"]
