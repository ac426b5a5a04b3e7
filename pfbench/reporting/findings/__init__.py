"""What is computed of compared runs and said in words and tables."""
