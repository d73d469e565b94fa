"""The one representation that every language lowers to."""
