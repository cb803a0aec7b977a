/* Solves the rows of an island with their bounds. */
#ifndef HRP_SIM_ODE_NEWTON_H
#define HRP_SIM_ODE_NEWTON_H

#include "solver.h"

/* Return whether a row is at a bound, and whether at the upper one: a bit each. */
int hrp_row_bits(const BoundedRow *row);

/* Solve an island. Returns 0 if a number is not finite. */
int hrp_island_solve(World *world, const Island *island);

#endif
