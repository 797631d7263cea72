"""Find a course and read its exercises, rubrics and oracles; wrong content names file and key."""
