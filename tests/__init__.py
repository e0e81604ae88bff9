"""A package, so that `python -m tests.fuzz` finds this folder where another distribution brings a package of the same name."""
