/* Steps of the world. */
#ifndef HRP_SIM_ODE_STEP_H
#define HRP_SIM_ODE_STEP_H

#include "world.h"

/* Advance by count steps, or up to the step that fails, whose changes are undone. fault->done is
 * set in either case. */
void hrp_world_step(World *world, long count, Fault *fault);

#endif
