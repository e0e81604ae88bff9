"""Parse untrusted documents (session files, saved surfaces, evaluation logs) through schemas into typed, frozen values.

Sizes, nesting and numbers are bounded. Data that violate the schema raise one `InputError` with the file, the position
and the reason; the importing modules interpret the values. Modules that most commands need import this package lazily,
because pydantic is slow to import.
"""
