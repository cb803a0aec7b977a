/* The contact points of two links, and the few of them that are simulated. */
#ifndef HRP_SIM_ODE_CONTACT_SET_H
#define HRP_SIM_ODE_CONTACT_SET_H

#include "world.h"

#define CONTACT_SET_POINTS 2048
#define NO_CLUSTER (-1)
typedef struct {
    dContactGeom at;
    const Geom *a, *b;
    int cluster, is_kept; /* cluster: of points with similar normals, or NO_CLUSTER */
    dReal u, v; /* position in the plane across the normal */
} ContactPoint;

/* The contact points of two links; the normals point into the first. */
typedef struct {
    ContactPoint points[CONTACT_SET_POINTS];
    int count;
} ContactSet;

/* Keep at most max points of each direction. */
void hrp_contact_set_reduce(ContactSet *contacts, int max);

/* Make room for points: if there is none, keep few of each direction. Fewer than 150 directions
 * are not similar. Returns where the next point goes. */
ContactPoint *hrp_contact_set_reserve(ContactSet *contacts, int count);

/* Append a point without its geometry. */
ContactPoint *hrp_contact_set_append(ContactSet *contacts, const Geom *a, const Geom *b);

#endif
