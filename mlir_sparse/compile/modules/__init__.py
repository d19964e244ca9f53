"""Modules that users write: `user_module` compiles one, `module_function` calls its functions, and
`run_pipeline` runs passes on one.
"""

from mlir_sparse.compile.modules.module_function import ModuleFunction
from mlir_sparse.compile.modules.run_pipeline import opt
from mlir_sparse.compile.modules.user_module import UserModule, module

__all__ = ["ModuleFunction", "UserModule", "module", "opt"]
