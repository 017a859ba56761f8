"""Another size of the input: constants that follow it are written anew, or computed when the model runs."""
