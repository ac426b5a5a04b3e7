"""What the papers state: bounds as functions, claims and errata as data."""
