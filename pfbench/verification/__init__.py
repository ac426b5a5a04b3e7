"""Claims of the literature put to the test, with verdicts and their evidence."""
