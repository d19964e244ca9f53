"""The process that the package runs in: its environment variables, its interpreters, its forks, its memory."""
