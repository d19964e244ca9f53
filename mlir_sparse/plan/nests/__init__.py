"""From a sum of terms to loop nests that the sparsifier takes, with temporaries and conversions where it takes none."""
