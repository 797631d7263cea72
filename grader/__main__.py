"""`python -m grader` is `grade`."""

import sys

# `python -m` puts the current folder first: a learner's random.py there must not run as ours.
if not sys.flags.safe_path:
    del sys.path[0]

from grader.cli.entry import main

if __name__ == "__main__":
    main()
