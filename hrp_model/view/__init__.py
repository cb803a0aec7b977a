"""Models in a browser, with viser."""
