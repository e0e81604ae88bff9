"""Results as GitHub-flavoured Markdown, for pull requests, job summaries and issues.

All numbers come from the result; this package only formats them. Names of groups come from users' files and are
escaped: they cannot produce HTML, links, mentions or table columns.
"""
