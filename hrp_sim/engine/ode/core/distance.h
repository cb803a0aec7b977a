/* Lower bounds of the distance between the triangles of a mesh and another shape. */
#ifndef HRP_SIM_ODE_DISTANCE_H
#define HRP_SIM_ODE_DISTANCE_H

#include "shapes.h"

/* Return a lower bound of the distance between two shapes, at least one of them a mesh, up to a
 * number, in [m]; 0 if they may touch. Both are placed where they are now. Other shapes count as
 * their bounds, meshes as their surfaces. */
dReal hrp_surfaces_distance(const Geom *a, const Geom *b, dReal most);

#endif
