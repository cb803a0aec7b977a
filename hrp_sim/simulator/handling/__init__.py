"""Requests of the standard simulation services, one function for each."""
