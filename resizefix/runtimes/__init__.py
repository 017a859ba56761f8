"""The runtimes that a model can be given to, one door each, and what a run may take."""
