"""Results as GitHub-flavoured Markdown, for pull requests, job summaries and issues.

Numbers are those of the rows that `summary`, `comparison`, `gaps` and `surfaces` made; here they are only written down.
Names come out of people's files, so nothing in them is obeyed: no HTML, no link, no column of their own.
"""
