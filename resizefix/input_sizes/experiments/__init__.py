"""Runs that try to refute a model of another input size; they know only the two files and what was asked."""
