"""Measure programs by replaying them in a clean, confined process."""
