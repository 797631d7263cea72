"""Frozen records that pass between the stages; they hold data and decide nothing."""
