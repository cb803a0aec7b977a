/* Ray casting. */
#ifndef HRP_SIM_ODE_RAYS_H
#define HRP_SIM_ODE_RAYS_H

#include "world.h"

enum { ALL_LINKS = -1, NO_LINK = -2 };
typedef struct {
    long body;
    int link; /* of this body, or ALL_LINKS */
} Ignored;
typedef struct {
    const double *origins, *directions;
    long count;
    double max_distance;
    Ignored ignored;
    double *distances;
    int complete; /* 0 when memory was short: then the distances are not valid */
} Rays;

/* Write the distance to the nearest shape along each ray, from either side, infinity if there is
 * none; an OdeWork. */
void hrp_rays_cast(World *world, void *arguments);

/* Free the memory that rays keep from call to call. */
void hrp_rays_free(World *world);

#endif
