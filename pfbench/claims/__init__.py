"""Claims: a folder for each paper, a file for each theorem or table."""
