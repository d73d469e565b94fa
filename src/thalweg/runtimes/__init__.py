"""Move events from connectors through engines."""
