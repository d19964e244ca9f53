"""What works with what, found by running it."""
