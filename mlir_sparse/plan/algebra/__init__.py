"""Rewrites a whole statement for the data at hand: other parentheses, parts made first, parts made once.

`normal_form` has the form that statements are brought to and back from, `estimates` how many entries parts have,
`nest_times` what loops over them take, and `search` the cheapest way; `choose_plan` is the entry.
"""
