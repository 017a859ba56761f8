"""Every sentence of errors, refusals and verifications: a table for each room, from codes to templates.

A code is the room's name, a dot and what it is about. The tables import nothing, so that every room may make a
`Diagnostic`; a room's is read when its first one is made.
"""
