"""Doors of other systems to the same mail: each speaks that system's words, and calls the services that all call."""
