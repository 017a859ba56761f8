"""Older opsets and an older IR for a whole model: what a valid Upsample-7 needs around it."""
