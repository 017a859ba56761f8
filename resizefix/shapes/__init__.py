"""Sizes that are known before a run: one row per operator, over numbers, expressions and unknowns."""
