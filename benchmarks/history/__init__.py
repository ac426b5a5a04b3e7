"""History of counts and times: expected counts, results at past commits, and their page.

``python -m benchmarks.history --help`` says what it does.
"""
