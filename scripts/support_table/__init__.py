"""The support tables, made by running every cell."""
