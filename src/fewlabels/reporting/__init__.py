"""Results for people and other programs: plots, HTML reports, Markdown, JSON schemas and MLflow."""
