"""What is said of dialects."""

SENTENCES = {
    "dialects.not-expressible": "{label}: {name} cannot express it: {why}",
    "dialects.no-input-for-extent": "{name} has no input for {value}; such inputs exist from opset {first} on",
}
