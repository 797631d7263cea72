"""Grade programs for distributed-JAX lessons by replaying what they export."""

__version__ = "0.1.0"
