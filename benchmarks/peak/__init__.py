"""What gradlife peak predicts beside what is measured, and what its recorded steps cost."""
