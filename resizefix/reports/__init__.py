"""The same outcomes for a terminal, a program, a person looking."""
