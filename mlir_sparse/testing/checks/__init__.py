"""CHECK lines made for a test: `recorded_runs` asks lit what RUN lines print, where `record_input` stands for
FileCheck, `value_names` names values by what they mean, `check_lines` writes the lines of an output, and
`update_checks` puts them into the file.
"""

from mlir_sparse.testing.checks.check_lines import CheckSection, check_sections
from mlir_sparse.testing.checks.update_checks import UpdatedChecks, update_checks

__all__ = ["CheckSection", "UpdatedChecks", "check_sections", "update_checks"]
