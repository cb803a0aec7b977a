/* Pairs of bodies whose bounding boxes overlap. */
#ifndef HRP_SIM_ODE_SWEEP_H
#define HRP_SIM_ODE_SWEEP_H

#include "world.h"

/* Find the pairs of bodies whose boxes overlap, in their order. Returns 0 when memory is short. */
int hrp_sweep_pairs(World *world);
void hrp_sweep_free(Sweep *sweep);

#endif
