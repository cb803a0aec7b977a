/* The matrix of the exact solver: its factor, and solutions with it. */
#ifndef HRP_SIM_ODE_FACTOR_H
#define HRP_SIM_ODE_FACTOR_H

#include "solver.h"

/* Set the matrix of an island for the rows that are free; is_first: for the first time in a step.
 * Later only the columns are set that change in its factor. */
void hrp_matrix_assemble(System *system, const Island *island, int is_first);

/* Factor the columns of an island that were set, in place. The factor equals that of all columns
 * to the last bit. Returns 0 if a number is not finite, or the step is to be given up. */
int hrp_matrix_factor(World *world, const Island *island);

/* Solve the factored system of an island; x, of 6 numbers for each position, is replaced. Sets
 * solved_rate and solved_impulse of the joints of trees, and impulse of those that are watched: with
 * a right-hand side that lacks it, it is the whole one. */
void hrp_matrix_solve(const System *system, const Island *island, dReal *x);

#endif
