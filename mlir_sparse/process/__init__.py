"""What a process brings with it: its environment variables, and its forks."""
