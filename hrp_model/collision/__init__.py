"""Other shapes for what touches: hulls, boxes, convex parts; and which links overlap."""
