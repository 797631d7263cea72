"""Claims success with its exit code and does nothing: first SystemExit, then the hard way."""

import os
import sys

print("all checks passed, 100 of 100 points")
sys.stdout.flush()

try:
    sys.exit(0)
except SystemExit:
    os._exit(0)
