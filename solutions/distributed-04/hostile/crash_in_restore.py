"""Ends the process in the middle of restoring, in a way that no exception tells."""

import ctypes


def save(folder, state):
    folder.mkdir()
    (folder / "state").write_bytes(b"junk" * 100)


def restore(folder, like):
    ctypes.string_at(0)
