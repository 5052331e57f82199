"""The built-in agent. All but `engine` and `parser` runs as a child of its own, without Django."""
