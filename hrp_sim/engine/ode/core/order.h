/* Islands, elimination order and block structure of the exact solver's matrix. */
#ifndef HRP_SIM_ODE_ORDER_H
#define HRP_SIM_ODE_ORDER_H

#include "solver.h"

/* Update the structure of the matrix for the current nodes, couplings and contacts. Returns 0 when
 * memory is short, the matrix would be too large, or the step is to be given up. */
int hrp_structure_update(World *world);

#endif
