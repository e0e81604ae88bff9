"""An Assessment as one self-contained HTML file: data, then text. It asks `summary` for numbers and never the pool."""
