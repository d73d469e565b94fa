"""Rules, evaluated by the incremental engine: alone, or between other parts of a plan."""
