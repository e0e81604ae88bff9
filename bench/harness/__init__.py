"""What the measurements share: rows of figures, pages made from them, a command line, clocks, processes and pools.

A benchmark is a generator of flat rows. They are kept as JSON lines beside the page, and whatever is shown is made from
them: the page in Markdown, and the table of all measurements (`python -m bench`).
"""
