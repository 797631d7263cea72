"""Prints two gigabytes, half of it to stderr, in one long line and in a great many short ones."""

import sys

line = "passed 100/100 " * 64 + "\n"
block = line * 1024
for _ in range(1000):
    sys.stdout.write(block)
    sys.stderr.write(block)
sys.stdout.write("x" * 2**26)
sys.stdout.flush()
