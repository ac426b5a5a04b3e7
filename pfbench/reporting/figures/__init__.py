"""Figures: panels for the interactive page, and as SVG and PDF."""
