/* A step of `solver: world`: ODE finds the contacts and holds the bodies, the exact solver computes
 * their changes of velocity. */
#ifndef HRP_SIM_ODE_EXACT_H
#define HRP_SIM_ODE_EXACT_H

#include "world.h"

/* Allocate the system of a world. Returns 0 when memory is short. */
int hrp_system_create(World *world);
void hrp_system_free(World *world);

/* List nodes and couplings again before the next step: bodies have changed. */
void hrp_system_outdate(World *world);

/* Begin the contacts of two links. */
void hrp_touches_begin(World *world);

/* Add a contact to the system; the normal points into a. For the others see hrp_friction_join. */
void hrp_touch_create(World *world, const dContact *contact, dBodyID a, dBodyID b, int cluster,
                      dReal cap);

/* Return the number of the contact that was added last. */
int hrp_touch_number(const World *world);

/* Return the force of a contact on the body of its first node, in W. */
void hrp_touch_force(const World *world, int number, dReal force[3]);

/* Solve the step whose contacts were found; change the velocities. Returns 0 on failure, and may
 * describe the fault. */
int hrp_system_step(World *world, Fault *fault);

/* Begin a step: list what has changed, forget the last contacts, and set all rows but those of
 * contacts. Returns 0 when memory is short. */
int hrp_system_begin(World *world);

#endif
