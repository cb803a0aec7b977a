/* Islands of bodies at rest, which steps leave out until something acts on them.
 *
 * A body is at rest in a step if its groups are slower than both REST_ limits, nothing drives it at
 * a speed, and its drives and external wrenches are those of the step before. An island, of bodies
 * that touch each other or are joined, falls asleep once each of them has been at rest for
 * REST_TIME: its velocities become zero. Static bodies do so alone. Sleeping bodies keep what
 * sensors read and the contacts that steps found last. An island wakes as a whole. */
#ifndef HRP_SIM_ODE_SLEEP_H
#define HRP_SIM_ODE_SLEEP_H

#include "world.h"

/* Return for how many steps an island must be at rest to fall asleep. */
int hrp_steps_to_sleep(dReal step);

/* List the bodies that are awake; there is room for all. */
void hrp_awake_list(World *world);

/* Before steps, wake bodies whose drives, external wrenches or surface velocities have changed, and
 * what rests on such a surface. */
void hrp_sleep_begin(World *world);

/* Whether the contacts of two links may be those with which a body falls asleep after the step. */
int hrp_may_sleep(const World *world, const Body *const bodies[2], LinkShapes *const links[2]);

/* After a step, let islands that have been at rest fall asleep. */
void hrp_sleep_end(World *world);

/* Whether two links are of a body that sleeps and of one that is awake, both of which can move: a
 * contact then wakes the former. */
int hrp_touch_wakes(const Body *const bodies[2], LinkShapes *const links[2]);

/* Note such a contact: the step is to be repeated. */
void hrp_touch_note(World *world, const Body *const bodies[2]);

/* Wake the islands that were touched. Returns whether there are any. */
int hrp_touched_wake(World *world);

/* Wake a body that changes between steps, and its island. */
void hrp_body_wake(World *world, Body *body);

/* Likewise, and what rests on its fixed links. */
void hrp_disturb(World *world, Body *body);

/* Wake what the fixed links of a body, which are where they were not before, may touch. */
void hrp_disturb_near(World *world, const Body *body);

/* Wake all bodies, at the start of a run. */
void hrp_sleep_reset(World *world);
void hrp_sleep_free(World *world);

#define REST_NUMBERS 6 /* of each body, see hrp_sleep_read */
#define SLEEPER_NUMBERS (4 + MEMORY_NUMBERS)

/* Write of each body for how many steps it has been at rest, the number of the body with which it
 * sleeps, from 1 on, or 0, and the digests of its inputs; of each sleeping contact, body and link
 * of both sides and what it leaves to the next step, and what records contain. */
void hrp_sleep_read(const World *world, int *bodies, int *contacts, double *values);

/* Set what hrp_sleep_read wrote before. Returns 0 when memory is short or it is invalid, and then
 * all are awake. */
int hrp_sleep_write(World *world, const int *bodies, const int *contacts, const double *values,
                    int count);

#endif
