"""The profile `claims`: the thirteen tools and three resources of an earlier system, by its names, over our services.

A tool converts what it is given, calls one method of a service, and converts back. Nothing is decided here.
"""
