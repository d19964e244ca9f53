"""Expressions crossed with storage: how many combinations are right, how many are refused and by what."""
