"""Run a stranger's module in a confined process and bring out evidence, never a verdict."""

# Of the folders that the fork server removes where the coordinator no longer can.
WORKDIR_PREFIX = "grade-"
