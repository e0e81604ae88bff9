"""The room of tables: the only one that knows Ibis. Everything above asks `Predictions` and gets numbers."""
