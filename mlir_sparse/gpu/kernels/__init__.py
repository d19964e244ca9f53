"""The parts of a kernel: how its threads divide loops, share sums and store results."""
