"""What flows through everything: terms, facts, time, events."""
