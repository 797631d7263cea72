"""Receipts: a verdict's record shown in several forms and kept on disk; nothing is judged here."""
