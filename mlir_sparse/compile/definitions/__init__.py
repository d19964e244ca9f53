"""Tensors that are defined in index notation over others, and the statements that read them.

`defined_tensor` has the tensor, `derived_operands` the operands that stand for its gathers and conditions, which
`index_formulas` computes. `composed_statement` puts definitions in place of tensors; `composed_for_operands` says what
is computed for operands at hand, which `composed_call` runs. `composed_calls` keeps these calls for `evaluate`, and
`composed_kernel` is what `compile` returns.
"""
