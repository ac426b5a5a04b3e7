"""What is planned: specs, the runs they ask for, and what the names in them stand for."""
