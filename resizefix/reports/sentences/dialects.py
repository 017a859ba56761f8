"""What is said of dialects."""

SENTENCES = {
    "dialects.cannot-say-it": "{label}: {name} cannot say it: {why}",
    "dialects.input-they-exist-opset": "{name} has no input for {value}; they exist from opset {first} on",
}
