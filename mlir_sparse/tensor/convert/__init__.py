"""From one encoding to another, and from coordinates to level storage and back."""
