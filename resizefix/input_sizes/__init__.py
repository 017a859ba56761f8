"""Another size of the input: what follows it, the constants written anew, and experiments on the result."""
