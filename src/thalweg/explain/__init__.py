"""Plans for people to read: as text, as data, as drawings."""
