/* Contacts in directions in which nothing lets their groups move. */
#ifndef HRP_SIM_ODE_OVERLAP_H
#define HRP_SIM_ODE_OVERLAP_H

#include "solver.h"

/* Soften a contact for the steps that are left of those after it was found to be jammed. After the
 * last of them it is suspect: it is examined however little it presses. One that was found to be
 * right is examined only if it presses much more than in the last step, until none are left. */
void hrp_overlap_recall(const System *system, Touch *touch, int left, int right_left);

/* Soften contacts that press beyond all weights because nothing lets their groups separate. Returns
 * whether the island is to be solved again. */
int hrp_overlaps_soften(View *view);

#endif
