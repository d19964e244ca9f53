"""A pass that gives the first function of a module another name."""

import mlir_sparse as ms


@ms.register_pass("rename-first")
def rename_first(module, options):
    first = module.body.operations[0]
    first.attributes["sym_name"] = type(first.attributes["sym_name"]).get(options["to"], module.context)
