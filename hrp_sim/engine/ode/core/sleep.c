/* Islands of bodies at rest, which steps leave out until something acts on them. */
#include "sleep.h"
#include "bounds.h"
#include "drive.h"
#include "memory.h"
#include "records.h"
#include "rows.h"
#include "solver.h"
#include "state.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REST_TIME 0.5       /* [s] */
#define REST_SPEED 1e-4     /* of the centre of mass of a group, in [m/s] */
#define REST_TURN_RATE 5e-4 /* of a group, in [rad/s] */

int hrp_steps_to_sleep(dReal step)
{
    return (int)ceil(REST_TIME / step - 1e-9);
}

void hrp_awake_list(World *world)
{
    world->awake_count = 0;
    for (int i = 0; i < world->count; i++)
        if (!world->bodies[i]->asleep)
            world->awake[world->awake_count++] = world->bodies[i];
}

/* Add the bits of numbers to a digest. */
static uint64_t digest(uint64_t sum, const double *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, numbers + i, sizeof bits);
        sum = (sum ^ bits) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 32;
    }
    return sum;
}

static uint64_t surfaces_digest(const Body *body)
{
    const uint64_t sum = digest(1, live(body, DRIVE_TRACK_SPEED), body->links);
    return digest(sum, live(body, DRIVE_SURFACE_VELOCITY), 6 * body->links);
}

static uint64_t inputs_digest(const Body *body)
{
    uint64_t sum = 1;
    for (int field = DRIVE_Q; field <= DRIVE_EFFORT; field++)
        sum = digest(sum, live(body, (LiveField)field), body->coordinates);
    sum = digest(sum, live(body, WRENCH_FORCE), 3 * body->links);
    return digest(sum, live(body, WRENCH_TORQUE), 3 * body->links);
}

/* Wake an island; woken_finish must follow. */
static void island_wake(World *world, const Body *island)
{
    for (int i = 0; i < world->count; i++) {
        Body *body = world->bodies[i];
        if (body->asleep && body->island == island) {
            body->asleep = body->rest = 0;
            world->has_woken = 1;
        }
    }
}

static int can_move(const SleepingContact *contact, int side)
{
    return contact->body[side]->link_group[contact->record.link[side]] >= 0;
}

static dBodyID group_of(const SleepingContact *contact, int side)
{
    const Body *body = contact->body[side];
    return group_or_world(body, body->link_group[contact->record.link[side]]);
}

/* Whether a contact is of a body that can move and is awake. */
static int is_awake(const SleepingContact *contact)
{
    int awake = 0;
    for (int side = 0; side < 2; side++)
        awake |= can_move(contact, side) && !contact->body[side]->asleep;
    return awake;
}

/* Let steps find the contacts of the bodies that have woken, beginning with what they were. */
static void woken_finish(World *world)
{
    int kept = 0;
    if (!world->has_woken)
        return;
    world->has_woken = 0;
    hrp_groups_number(world);
    for (int i = 0; i < world->sleeper_count; i++) {
        const SleepingContact *contact = &world->sleepers[i];
        if (is_awake(contact))
            hrp_memory_append(world, &contact->memory, group_of(contact, 0), group_of(contact, 1));
        else
            world->sleepers[kept++] = *contact;
    }
    world->sleeper_count = kept;
    hrp_awake_list(world);
}

/* Wake a body with its island; woken_finish must follow. */
static void body_wake(World *world, Body *body)
{
    body->rest = 0;
    if (body->asleep)
        island_wake(world, body->island);
}

/* Likewise, and what rests on its fixed links. */
static void disturb(World *world, Body *body)
{
    body_wake(world, body);
    for (int i = 0; body->fixed.link_count && i < world->sleeper_count; i++) {
        const SleepingContact *contact = &world->sleepers[i];
        for (int side = 0; side < 2; side++)
            if (contact->body[side] == body && contact->body[!side]->asleep)
                island_wake(world, contact->body[!side]->island);
    }
}

void hrp_body_wake(World *world, Body *body)
{
    body_wake(world, body);
    woken_finish(world);
}

void hrp_disturb(World *world, Body *body)
{
    disturb(world, body);
    woken_finish(world);
}

/* Whether the box of a link of one set overlaps that of a link of another one. */
static int sets_overlap(const GeomSet *a, const GeomSet *b)
{
    for (int i = 0; boxes_overlap(a->box, b->box) && i < a->link_count; i++)
        for (int j = 0; j < b->link_count; j++)
            if (boxes_overlap(a->links[i].now.box, b->links[j].now.box))
                return 1;
    return 0;
}

void hrp_disturb_near(World *world, const Body *body)
{
    for (int i = 0; i < world->count; i++) {
        const Body *other = world->bodies[i];
        if (other->asleep && sets_overlap(&body->fixed, &other->moving))
            island_wake(world, other->island);
    }
    woken_finish(world);
}

/* Whether a joint or a track of a body is to move at a speed. */
static int is_driven(const Body *body)
{
    int driven = 0;
    for (int i = 0; i < body->coordinates; i++)
        driven |= live(body, DRIVE_DQ)[i] != 0.0;
    for (int i = 0; i < body->links; i++)
        driven |= live(body, DRIVE_TRACK_SPEED)[i] != 0.0;
    return driven;
}

void hrp_sleep_begin(World *world)
{
    for (int i = 0; world->steps_to_sleep && i < world->count; i++) {
        Body *body = world->bodies[i];
        const uint64_t surfaces = surfaces_digest(body), inputs = inputs_digest(body);
        if (surfaces == body->surfaces && inputs == body->inputs)
            continue;
        if (surfaces != body->surfaces)
            disturb(world, body);
        else
            body_wake(world, body);
        body->surfaces = surfaces;
        body->inputs = inputs;
        body->is_driven = is_driven(body);
    }
    woken_finish(world);
}

int hrp_may_sleep(const World *world, const Body *const bodies[2], LinkShapes *const links[2])
{
    int may = world->steps_to_sleep > 0;
    for (int side = 0; may && side < 2; side++)
        may = !links[side]->group || bodies[side]->rest + 1 >= world->steps_to_sleep;
    return may;
}

static int is_slow(dBodyID group)
{
    const dReal *v = dBodyGetLinearVel(group), *w = dBodyGetAngularVel(group);
    return dot3(v, v) < REST_SPEED * REST_SPEED && dot3(w, w) < REST_TURN_RATE * REST_TURN_RATE;
}

/* Count the step if a body is at rest. Returns whether it has been so for long enough. */
static int rest_count(const World *world, Body *body)
{
    int rests = !body->is_driven && !body->is_pushed;
    for (int g = 0; rests && g < body->groups; g++)
        rests = is_slow(body->group[g]);
    body->rest = rests ? body->rest + (body->rest < world->steps_to_sleep) : 0;
    return body->rest == world->steps_to_sleep;
}

/* Return the body that represents an island, the first of it. */
static Body *root_of(Body *body)
{
    while (body->island != body)
        body = body->island = body->island->island;
    return body;
}

static void join(Body *a, Body *b)
{
    a = root_of(a);
    b = root_of(b);
    if (a->id <= b->id)
        b->island = a;
    else
        a->island = b;
}

/* Join two nodes, of which the second may be the world. */
static void nodes_join(const System *system, int first, int second)
{
    Body *a = system->nodes[first].body;
    Body *b = second == WORLD_NODE ? a : system->nodes[second].body;
    if (!a->asleep && !b->asleep)
        join(a, b);
}

/* Find the islands of the bodies that are awake, and which of them stay so. What lies on a surface
 * that moves is not at rest. */
static void islands_find(World *world)
{
    const System *system = world->system;
    for (int i = 0; i < world->awake_count; i++) {
        Body *body = world->awake[i];
        body->island = body;
        body->stays_awake = body->rest < world->steps_to_sleep;
    }
    for (int t = 0; t < system->touch_count; t++) {
        const Touch *touch = &system->touches[t];
        nodes_join(system, touch->first, touch->second);
        if (dot3(touch->surface, touch->surface) > 0.0)
            system->nodes[touch->first].body->stays_awake = 1;
    }
    for (int c = 0; c < system->coupling_count; c++)
        nodes_join(system, system->couplings[c].first, system->couplings[c].second);
    for (int i = 0; i < world->awake_count; i++)
        root_of(world->awake[i])->stays_awake |= world->awake[i]->stays_awake;
}

/* Stop a body, and write what sensors read while it sleeps. */
static void body_sleep(const World *world, Body *body)
{
    for (int g = 0; g < body->groups; g++) {
        dBodySetLinearVel(body->group[g], 0.0, 0.0, 0.0);
        dBodySetAngularVel(body->group[g], 0.0, 0.0, 0.0);
        hrp_group_mark_moved(body->group[g]);
    }
    hrp_joints_read_positions(body);
    for (int j = 0; j < body->joints; j++)
        body->joint[j].now.dq = 0.0;
    hrp_velocities_store(body);
    hrp_motion_write(body, world->step);
    hrp_bounds_place(body, 0.0);
    body->asleep = 1;
}

/* Keep the contacts of the bodies that have fallen asleep, which the next steps do not find. */
static void contacts_keep(World *world)
{
    int left = 0;
    for (int i = 0; i < world->record_count; i++) {
        const ContactRecord *record = &world->records[i];
        SleepingContact *contact = &world->sleepers[world->sleeper_count];
        *contact = (SleepingContact){.record = *record,
                                     .body = {hrp_body_of(world, record->body[0]),
                                              hrp_body_of(world, record->body[1])}};
        if (is_awake(contact)) {
            world->records[left++] = *record;
            continue;
        }
        if (record->touch < world->memory_limit)
            contact->memory = world->memory[record->touch];
        world->sleeper_count++;
    }
    world->record_count = left;
}

static int sleepers_reserve(World *world, int count)
{
    return hrp_array_reserve(&world->sleepers, &world->sleeper_capacity, count,
                             sizeof(SleepingContact));
}

void hrp_sleep_end(World *world)
{
    int rests = 0, before = world->awake_count;
    for (int i = 0; world->steps_to_sleep && i < world->awake_count; i++)
        rests |= rest_count(world, world->awake[i]);
    if (!rests || world->records_lost ||
        !sleepers_reserve(world, world->sleeper_count + world->record_count + 1))
        return;
    islands_find(world);
    for (int i = 0; i < world->awake_count; i++) {
        Body *body = world->awake[i], *root = root_of(body);
        if (!root->stays_awake) {
            body->island = root;
            body_sleep(world, body);
        }
    }
    hrp_awake_list(world);
    if (world->awake_count < before)
        contacts_keep(world);
}

int hrp_touch_wakes(const Body *const bodies[2], LinkShapes *const links[2])
{
    return links[0]->group && links[1]->group && bodies[0]->asleep != bodies[1]->asleep;
}

void hrp_touch_note(World *world, const Body *const bodies[2])
{
    ((Body *)bodies[bodies[1]->asleep])->is_touched = 1;
    world->is_touched = 1;
}

int hrp_touched_wake(World *world)
{
    if (!world->is_touched)
        return 0;
    world->is_touched = 0;
    for (int i = 0; i < world->count; i++) {
        Body *body = world->bodies[i];
        if (body->is_touched && body->asleep)
            island_wake(world, body->island);
        body->is_touched = 0;
    }
    woken_finish(world);
    return 1;
}

void hrp_sleep_reset(World *world)
{
    for (int i = 0; i < world->count; i++)
        world->bodies[i]->asleep = world->bodies[i]->rest = 0;
    world->sleeper_count = world->has_woken = 0;
    hrp_awake_list(world);
}

void hrp_sleep_free(World *world)
{
    free(world->sleepers);
    free(world->awake);
    world->sleepers = NULL;
    world->awake = NULL;
    world->sleeper_count = world->sleeper_capacity = world->awake_count = 0;
}

void hrp_sleep_read(const World *world, int *bodies, int *contacts, double *values)
{
    for (int i = 0; i < world->count; i++, bodies += REST_NUMBERS) {
        const Body *body = world->bodies[i];
        bodies[0] = body->rest;
        bodies[1] = 0;
        for (int k = 0; body->asleep && k <= i && !bodies[1]; k++)
            if (world->bodies[k] == body->island)
                bodies[1] = k + 1;
        memcpy(bodies + 2, &body->inputs, sizeof body->inputs);
        memcpy(bodies + 4, &body->surfaces, sizeof body->surfaces);
    }
    for (int i = 0; i < world->sleeper_count; i++, contacts += SLEEPER_NUMBERS, values += 10) {
        const SleepingContact *contact = &world->sleepers[i];
        hrp_record_write(&contact->record, contacts, values);
        memcpy(contacts + 4, &contact->memory, sizeof contact->memory);
    }
}

/* Read a sleeping contact. Returns 0 if it is invalid. */
static int contact_read(const World *world, const int *numbers, const double *values,
                        SleepingContact *contact)
{
    *contact = (SleepingContact){.record.touch = -1};
    for (int side = 0; side < 2; side++) {
        contact->record.body[side] = numbers[2 * side];
        contact->record.link[side] = numbers[2 * side + 1];
        contact->body[side] = hrp_body_of(world, numbers[2 * side]);
        if (!contact->body[side] || numbers[2 * side + 1] < 0 ||
            numbers[2 * side + 1] >= contact->body[side]->links)
            return 0;
    }
    memcpy(&contact->memory, numbers + 4, sizeof contact->memory);
    memcpy(contact->record.p, values, sizeof contact->record.p);
    memcpy(contact->record.normal, values + 3, sizeof contact->record.normal);
    memcpy(contact->record.force, values + 6, sizeof contact->record.force);
    contact->record.depth = values[9];
    return (can_move(contact, 0) || can_move(contact, 1)) && !is_awake(contact);
}

int hrp_sleep_write(World *world, const int *bodies, const int *contacts, const double *values,
                    int count)
{
    hrp_sleep_reset(world);
    if (!sleepers_reserve(world, count + 1))
        return 0;
    for (int i = 0; i < world->count; i++, bodies += REST_NUMBERS) {
        Body *body = world->bodies[i];
        const int island = bodies[1];
        body->rest = bodies[0];
        memcpy(&body->inputs, bodies + 2, sizeof body->inputs);
        memcpy(&body->surfaces, bodies + 4, sizeof body->surfaces);
        body->is_driven = is_driven(body);
        hrp_inputs_check(body, &(Fault){0}); /* as steps do while a body is awake */
        if (!world->steps_to_sleep || island < 1 || island > world->count)
            continue;
        body->asleep = 1;
        body->island = world->bodies[island - 1];
        hrp_bounds_place(body, 0.0);
    }
    int good = 1;
    for (int i = 0; good && i < count; i++)
        good = contact_read(world, contacts + (size_t)i * SLEEPER_NUMBERS, values + 10 * (size_t)i,
                            &world->sleepers[world->sleeper_count++]);
    if (!good)
        hrp_sleep_reset(world);
    hrp_awake_list(world);
    return good;
}
