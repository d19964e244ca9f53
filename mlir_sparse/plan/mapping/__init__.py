"""Which loops of a nest go to which threads of a GPU."""
