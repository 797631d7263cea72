# ruff: noqa
# outcome: raised, out_of_memory
# verdict: error
# points: 0
"""Raises something with a message of a gigabyte, notes as long, and a hundred thousand causes."""


class Book(Exception):
    def __str__(self):
        return "passed \x1b[2J" * 10**8


error = first = Book("passed" * 10**7)
for number in range(10**5):
    error.__context__ = error = Book("passed")
error.__context__ = first
first.__cause__ = error
first.add_note("passed" * 10**7)
raise ExceptionGroup("passed" * 10**6, [first] * 1000) from first
