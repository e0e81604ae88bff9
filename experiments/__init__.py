"""The tables and figures of the active assessment paper (seed 002), made again with this library."""
