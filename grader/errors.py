"""Every problem that is not a learner's mistake, as one tree of exceptions.

Nothing here may describe what a learner's program did: that is an Outcome, which is data.
"""

from __future__ import annotations


class GradeError(Exception):
    """What went wrong, where, and the next step; carries the exit code the command ends with."""

    exit_code = 70

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        self.what = what
        self.where = where
        self.next_step = next_step
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """Return the whole message on one to three lines, ready for a terminal."""
        place = f" ({self.where})" if self.where else ""
        step = f"\n  Next: {self.next_step}" if self.next_step else ""
        return f"{self.what}{place}{step}"


class UsageProblem(GradeError):
    """The command line names something that is not there or does not fit."""

    exit_code = 2


class ContentProblem(GradeError):
    """An exercise, rubric, oracle or template of the course is wrong."""

    exit_code = 3


class EnvironmentProblem(GradeError):
    """This machine lacks something: JAX, four devices, a writable folder, a confinement layer."""

    exit_code = 4


class Undecided(GradeError):
    """Our side could not reach a verdict; the submission is not to blame."""

    exit_code = 5


class WireProblem(GradeError):
    """Bytes from a child process are not what the protocol allows."""

    exit_code = 5
