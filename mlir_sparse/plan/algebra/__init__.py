"""Rewrites whole statements for the data at hand: other parentheses, parts made first, parts made once.

`normal_form` has the form that statements are brought to and back from, `estimates` how many entries parts have,
`nest_times` what loops over them take, `product_search` the cheapest way to compute a product, all three by native
code, and `statement_ways` the ways to compute a statement. `choose_rewriting` is the entry for a statement,
`several_statements` for a comprehension.
"""
