"""The eight spellings of one operator as rows of data, one reader from them to the canonical form, one writer back.

`dialect_of` (dialect.py) picks the row, `read` and `write` (read.py, write.py) do the rest; for all a dialect can say,
`read(write(interpolation, operands, dialect), dialect)` gives the same interpolation and operands.
"""
