"""JSON Schemas (draft 2020-12) of all JSON that the command line writes.

Each schema is a TypedDict; of the rest of fewlabels, this package imports only `errors`.
"""
