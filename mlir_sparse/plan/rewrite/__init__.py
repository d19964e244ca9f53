"""Rules that rewrite expressions, one a file: each asks for laws, and says what it may change in numbers that round.

`rewrite_rule` is the protocol, `rewrite_rules` the list; `sum_of_terms` is the form that rules lead to. What a text
means is settled before: sums, semirings and `stored(...)` in `notation/`, truth values, literals and ranges in `spec/`.
Which rules pay, and the temporaries that take the rest, are decided in `plan/nests/`.
"""
