"""What is said of runtimes."""

SENTENCES = {
    "runtimes.gave-answer-within-s": "{parser} gave no answer within {time_limit:g} s",
}
