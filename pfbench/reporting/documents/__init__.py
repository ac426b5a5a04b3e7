"""The documents a report is written as: page, Markdown, LaTeX, macros, references."""
