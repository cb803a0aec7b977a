/* Friction and restitution of pairs of contact materials, and what shapes declare instead. */
#ifndef HRP_SIM_ODE_MATERIALS_H
#define HRP_SIM_ODE_MATERIALS_H

#include "world.h"

void hrp_materials_free(World *world);

/* Copy both matrices (count x count) for use by hrp_contact_surface, and which materials' pairs
 * with the first material prevail over what shapes declare (count). Returns 0 and describes the
 * problem, unless memory is short. */
int hrp_materials_set(World *world, int count, const double *friction, const double *restitution,
                      const int *prevails, char *problem);

/* Whether shapes of these materials collide. */
int hrp_materials_collide(const World *world, int a, int b);

/* Set friction, restitution and spring of a contact between two shapes. */
void hrp_contact_surface(const World *world, const Geom *a, const Geom *b, dContact *contact);

#endif
