/* Contacts in directions in which nothing lets their groups move. */
#ifndef HRP_SIM_ODE_OVERLAP_H
#define HRP_SIM_ODE_OVERLAP_H

#include "solver.h"

/* Soften a contact for the steps that are left of those after it was found to be jammed. After the
 * last of them it is suspect: it is examined however little it presses. */
void hrp_overlap_recall(const System *system, Touch *touch, int left);

/* Soften contacts that press beyond all weights because nothing lets their groups separate. Returns
 * whether the island is to be solved again. */
int hrp_overlaps_soften(View *view);

#endif
