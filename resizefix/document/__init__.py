"""A model file: open, edit in place, save. Nothing here knows what a Resize is."""
