"""`am share`: mail that is given away as a folder of pages."""
