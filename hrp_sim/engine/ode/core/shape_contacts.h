/* Contacts of two shapes. */
#ifndef HRP_SIM_ODE_SHAPE_CONTACTS_H
#define HRP_SIM_ODE_SHAPE_CONTACTS_H

#include "contact_set.h"

/* Append the contacts of two shapes, whose bounds were placed. */
void hrp_shapes_collide(World *world, ContactSet *contacts, const Geom *a, const Geom *b);

#endif
