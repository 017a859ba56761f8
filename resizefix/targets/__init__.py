"""What a runtime accepts, as rules: one row per rule, each with its source, judged over the facts of one node."""
