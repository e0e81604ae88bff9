"""Results as self-contained HTML files: sentences, figures and tables, made from a result and never from the pool."""
