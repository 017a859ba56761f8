"""Constants that follow the size of the input are written anew, or computed when the model runs."""
