/* What the last step leaves for users: contact points and forces, times of collision detection by
 * pair, and pairs of links whose contacts ODE failed to find. */
#ifndef HRP_SIM_ODE_RECORDS_H
#define HRP_SIM_ODE_RECORDS_H

#include "world.h"

/* Discard the records of the last attempt at a step. */
void hrp_records_clear(World *world);

/* Record a contact whose joint was just created. */
void hrp_records_append(World *world, const ContactRecord *contact);

/* Request force feedback for all recorded contacts, whose addresses no longer change. */
void hrp_records_request_forces(World *world);

/* Read the forces before the contact joints are destroyed. ODE reports the force on the joint's
 * first body: that of the first shape, unless that shape is fixed to the world. */
void hrp_records_read_forces(World *world);
void hrp_records_free(World *world);

/* Write body and link of both sides of a contact (4), and point, normal, force and depth (10). */
void hrp_record_write(const ContactRecord *record, int *ids, double *values);

/* Return of how many contacts hrp_records_write writes: those of steps, and of bodies that
 * sleep. */
int hrp_records_count(const World *world);
void hrp_records_write(const World *world, int *ids, double *values);

/* Discard the times of the last attempt at a step. */
void hrp_pair_costs_clear(World *world);

/* Return the current time in [s], or 0 if costs are not recorded. */
double hrp_pair_costs_start(const World *world);

/* Record a pair that was examined since a time of hrp_pair_costs_start. It is left out when memory
 * is short. */
void hrp_pair_costs_append(World *world, const Body *a, int link_a, const Body *b, int link_b,
                           double start);
void hrp_pair_costs_free(World *world);

/* Discard the pairs of the last call. */
void hrp_failed_pairs_clear(World *world);

/* Record a pair, once. It is left out when memory is short. */
void hrp_failed_pairs_append(World *world, const Body *a, int link_a, const Body *b, int link_b);
void hrp_failed_pairs_free(World *world);

#endif
