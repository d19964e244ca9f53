"""Sparsified code, read and written: its loops, what their operations do, and the words that build new ones."""
