/* Collision detection, and the contacts of a step. */
#ifndef HRP_SIM_ODE_COLLIDE_H
#define HRP_SIM_ODE_COLLIDE_H

#include "world.h"

/* Create the contact joints of this step, in an order that depends on the state alone. */
void hrp_contacts_create(World *world);

/* Disable collisions of links that overlap, or touch, in the initial posture, and list them.
 * Returns 0 when memory is short. */
int hrp_overlaps_disable(World *world, Body *body, LinkNumbers *disabled);

#endif
