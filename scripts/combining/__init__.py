"""Expressions crossed with storage: counts the combinations that are right, and those refused with each error."""
