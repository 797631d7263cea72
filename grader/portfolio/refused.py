"""Why a portfolio is not restored."""

from __future__ import annotations

from grader.errors import GradeError


class Refused(GradeError):
    """A portfolio is not what it claims to be; nothing of it was written anywhere."""

    exit_code = 1
