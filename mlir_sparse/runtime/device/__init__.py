"""Programs on a device: launches of kernels, what they take, and the sizes that calls know."""
