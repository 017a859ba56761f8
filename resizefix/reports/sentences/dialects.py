"""What is said of dialects."""

SENTENCES = {
    "dialects.cannot-say-it": "{label}: {name} cannot express it: {why}",
    "dialects.input-they-exist-opset": "{name} has no input for {value}; such inputs exist from opset {first} on",
}
