"""Files exchanged with annotators and other tools: CSV, JSON lines, and tasks and exports of Label Studio."""
