"""What is said of lowerings."""

SENTENCES = {
    "lowerings.operators-replace": "no other operators can replace it: {nothing_to_match}",
}
