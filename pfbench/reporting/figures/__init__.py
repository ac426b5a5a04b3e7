"""What is drawn: panels as interactive figures and as SVG and PDF."""
