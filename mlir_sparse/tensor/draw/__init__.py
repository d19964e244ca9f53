"""Pictures of tensors: how they are stored, and where their entries are."""
