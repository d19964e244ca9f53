"""Pictures of tensors: their level trees, and the places of their entries."""
