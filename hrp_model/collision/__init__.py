"""Simplified collision shapes (hulls, boxes, convex parts), and overlap tests."""
