/* What contacts leave to the next step of the exact solver. */
#ifndef HRP_SIM_ODE_MEMORY_H
#define HRP_SIM_ODE_MEMORY_H

#include "world.h"

/* Find what the contact at a point left in the last step, and keep it by its current number. */
void hrp_memory_recall(World *world, int number, const dReal p[3], dBodyID a, dBodyID b);

/* Reserve memory for the contacts of a step; those beyond it leave nothing. The number depends on
 * the last step alone, not on earlier ones, so that runs are repeatable. */
void hrp_memory_begin(World *world);

/* Count what a contact of two groups left among that of the last step. */
void hrp_memory_append(World *world, const ContactMemory *contact, dBodyID a, dBodyID b);

/* Forget the contacts of a body that is removed; the numbers of later groups decrease. */
void hrp_memory_forget(World *world, const Body *body);

/* Undo the changes of a failed step. */
void hrp_memory_restore(World *world);

/* Forget all contacts, at the start of a run. */
void hrp_memory_reset(World *world);
void hrp_memory_free(World *world);

/* Write what each contact of the last step leaves, zeros if nothing: touch_count of them. */
void hrp_memory_read(const World *world, ContactMemory *out);

/* Set what hrp_memory_read wrote before. Returns 0 when memory is short. */
int hrp_memory_write(World *world, const ContactMemory *from, int count);

#endif
