"""Hashes of texts and files: BLAKE2, without the library of cryptography that the standard library loads for others."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL, which takes as long as a dozen modules of this package
except ImportError:  # an interpreter other than CPython
    from hashlib import blake2b

__all__ = ["blake2b"]
