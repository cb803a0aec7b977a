/* Mimic joints in the exact solver. */
#ifndef HRP_SIM_ODE_GEARS_H
#define HRP_SIM_ODE_GEARS_H

#include "solver.h"

/* List the gears of all bodies, as the last couplings. There is room for them. */
void hrp_gears_list(World *world, System *system);

/* Set the rows of all gears, after those of joints. */
void hrp_gears_fill(System *system, dReal h);

/* Return the rate of the row, in the current solution, that the nodes besides the first cause. */
dReal hrp_gear_rate(const System *system, const Coupling *coupling);

/* Add the impulse of the row to the right-hand side of the nodes besides the first. */
void hrp_gear_impulse_add(const System *system, const Coupling *coupling);

/* Add the efforts of gears to the wrenches of joints with a force sensor, like those of drives. */
void hrp_gears_read(const System *system, dReal h);

#endif
