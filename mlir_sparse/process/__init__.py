"""What a process brings with it: its environment variables, its forks, the memory it can still take."""
