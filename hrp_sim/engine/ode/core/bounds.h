/* Bounds of shapes and links, and lower bounds of their distances. */
#ifndef HRP_SIM_ODE_BOUNDS_H
#define HRP_SIM_ODE_BOUNDS_H

#include "world.h"

#define BOUND_SLACK 2e-3  /* of links in steps, see hrp_bounds_place, in [m] */
#define BOUND_MARGIN 1e-6 /* above rounding errors of bounds and their distances, in [m] */
static inline int boxes_overlap(const dReal a[6], const dReal b[6])
{
    return a[0] <= b[1] && b[0] <= a[1] && a[2] <= b[3] && b[2] <= a[3] && a[4] <= b[5] &&
           b[4] <= a[5];
}

void hrp_box_clear(dReal box[6]);
void hrp_box_extend(dReal box[6], const dReal p[3]);
void hrp_box_unite(dReal box[6], const dReal other[6]);

/* Compute the bounds of a body's shapes in the frames of its groups, where its shapes are new or
 * its static links were moved. */
void hrp_bounds_create(Body *body);

/* Place the bounds of a body's links where they are now; those that are within a slack of where
 * they were placed stay there, with boxes that are wider by the slack. */
void hrp_bounds_place(Body *body, dReal slack);

/* Place the bound of a link where it is now. */
void hrp_link_place(LinkShapes *link);

/* Place the shapes of a link and their bounds where they are now. */
void hrp_shapes_place(LinkShapes *link);

/* Add to the travel of a pair how far its links have moved relative to each other since the last
 * call. */
void hrp_pair_travel(LinkPair *pair);

/* Return a lower bound of the distance of what two bounds contain, in [m]; not positive if they may
 * touch: the widest gap along the axes of both boxes or, if there is none, along the cross
 * products of these axes. */
dReal hrp_bounds_distance(const Bound *a, const Bound *b);

#endif
