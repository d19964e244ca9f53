"""Rules that bring an expression to nests that the sparsifier takes."""
