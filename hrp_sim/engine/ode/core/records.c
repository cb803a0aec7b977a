/* What the last step leaves for users: contact points and forces, times of collision detection by
 * pair, and pairs of links whose contacts ODE failed to find. */
#define _POSIX_C_SOURCE 200809L /* clocks, recursive mutexes */

#include "records.h"
#include "exact.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void hrp_records_clear(World *world)
{
    world->record_count = world->records_lost = 0;
}

void hrp_records_append(World *world, const ContactRecord *contact)
{
    if (!hrp_array_reserve(&world->records, &world->record_capacity, world->record_count + 1,
                           sizeof(ContactRecord))) {
        world->records_lost = 1;
        return;
    }
    world->records[world->record_count] = *contact;
    world->records[world->record_count++].touch = hrp_touch_number(world);
}

void hrp_records_request_forces(World *world)
{
    for (int i = 0; i < world->record_count; i++) {
        ContactRecord *record = &world->records[i];
        if (record->joint)
            dJointSetFeedback(record->joint, &record->feedback);
    }
}

void hrp_records_read_forces(World *world)
{
    for (int i = 0; i < world->record_count; i++) {
        ContactRecord *record = &world->records[i];
        dReal force[3];
        if (record->joint)
            memcpy(force, dJointGetFeedback(record->joint)->f1, sizeof force);
        else
            hrp_touch_force(world, record->touch, force);
        for (int k = 0; k < 3; k++)
            record->force[k] = record->is_first ? force[k] : -force[k];
    }
}

void hrp_records_free(World *world)
{
    free(world->records);
    world->records = NULL;
    world->record_count = world->record_capacity = 0;
}

void hrp_record_write(const ContactRecord *record, int *ids, double *values)
{
    for (int side = 0; side < 2; side++) {
        ids[2 * side] = (int)record->body[side];
        ids[2 * side + 1] = record->link[side];
    }
    for (int k = 0; k < 3; k++) {
        values[k] = record->p[k];
        values[3 + k] = record->normal[k];
        values[6 + k] = record->force[k];
    }
    values[9] = record->depth;
}

int hrp_records_count(const World *world)
{
    return world->record_contacts ? world->record_count + world->sleeper_count : 0;
}

void hrp_records_write(const World *world, int *ids, double *values)
{
    for (int i = 0; i < hrp_records_count(world); i++, ids += 4, values += 10)
        hrp_record_write(i < world->record_count
                             ? &world->records[i]
                             : &world->sleepers[i - world->record_count].record,
                         ids, values);
}

void hrp_pair_costs_clear(World *world)
{
    world->pair_cost_count = 0;
}

double hrp_pair_costs_start(const World *world)
{
    struct timespec now;
    if (!world->record_pair_costs)
        return 0.0;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void hrp_pair_costs_append(World *world, const Body *a, int link_a, const Body *b, int link_b,
                           double start)
{
    if (!world->record_pair_costs ||
        !hrp_array_reserve(&world->pair_costs, &world->pair_cost_capacity,
                           world->pair_cost_count + 1, sizeof(PairCost)))
        return;
    world->pair_costs[world->pair_cost_count++] =
        (PairCost){{a->id, b->id}, {link_a, link_b}, hrp_pair_costs_start(world) - start};
}

void hrp_pair_costs_free(World *world)
{
    free(world->pair_costs);
    world->pair_costs = NULL;
    world->pair_cost_count = world->pair_cost_capacity = 0;
}

void hrp_failed_pairs_clear(World *world)
{
    world->failed_count = 0;
}

void hrp_failed_pairs_append(World *world, const Body *a, int link_a, const Body *b, int link_b)
{
    for (int i = 0; i < world->failed_count; i++) {
        const FailedPair *pair = &world->failed[i];
        if (pair->body[0] == a->id && pair->link[0] == link_a && pair->body[1] == b->id &&
            pair->link[1] == link_b)
            return;
    }
    if (hrp_array_reserve(&world->failed, &world->failed_capacity, world->failed_count + 1,
                          sizeof(FailedPair)))
        world->failed[world->failed_count++] = (FailedPair){{a->id, b->id}, {link_a, link_b}};
}

void hrp_failed_pairs_free(World *world)
{
    free(world->failed);
    world->failed = NULL;
    world->failed_count = world->failed_capacity = 0;
}
