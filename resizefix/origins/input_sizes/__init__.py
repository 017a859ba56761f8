"""Which sizes and constants of a static model follow the height and width of its input."""
