"""The history of counts and times: what is expected, what past commits gave, and its page.

``python -m benchmarks.history --help`` says what it does.
"""
