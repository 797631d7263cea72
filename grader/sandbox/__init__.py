"""Run a stranger's module in a confined process and bring out evidence, never a verdict."""
