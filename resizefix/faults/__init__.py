"""What converters break in a resize node: one row per fault, each with the sign, the condition and the fix."""
