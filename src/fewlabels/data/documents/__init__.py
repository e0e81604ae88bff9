"""Documents that other programs wrote, or that lay on a disk: read through a schema into typed, frozen values.

Sizes, depths and numbers are bounded, and whatever does not fit the schema ends in one `InputError` that names the file,
the place in it and the reason. What the values mean is up to the modules above. Those that most commands need load this
package by name, when asked for: pydantic takes a while to import.
"""
