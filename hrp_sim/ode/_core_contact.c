/* Collision detection and contact joints. */
#include "_core.h"

#include <math.h>
#include <string.h>

#define MAX_FOUND 512    /* contacts requested: ODE returns the first, not the deepest */
#define SAME_PLACE 1e-6  /* contacts closer than this are merged, in [m] */
#define OVERLAP 1e-3     /* links that overlap deeper initially never collide, in [m] */
#define TRACK_SIDE_FRICTION 0.5

typedef struct {
    World *world;
    const Body *bodies[2];
    const Geom *geoms[2];
} Pair;

static int boxes_overlap(const dReal a[6], const dReal b[6])
{
    return a[0] <= b[1] && b[0] <= a[1] && a[2] <= b[3] && b[2] <= a[3] && a[4] <= b[5] &&
           b[4] <= a[5];
}

/* Update the bounding boxes of the first shapes of a set. */
static void set_update(GeomSet *set, int count)
{
    for (int axis = 0; axis < 3; axis++) {
        set->box[2 * axis] = dInfinity;
        set->box[2 * axis + 1] = -dInfinity;
    }
    for (int i = 0; i < count; i++) {
        dReal *box = set->items[i].box;
        dGeomGetAABB(set->items[i].geom, box);
        for (int axis = 0; axis < 3; axis++) {
            set->box[2 * axis] = min_real(set->box[2 * axis], box[2 * axis]);
            set->box[2 * axis + 1] = max_real(set->box[2 * axis + 1], box[2 * axis + 1]);
        }
    }
}

/* Update the bounding boxes of a body's shapes. */
void boxes_update(Body *body)
{
    set_update(&body->moving, body->moving.count);
    set_update(&body->fixed, body->fixed.count);
}

/* Move the selected contacts to the front: the deepest, then repeatedly the one farthest from
 * them. */
static int reduce(dContactGeom *contacts, int count, int wanted)
{
    dReal distance[MAX_FOUND];
    int best = 0;
    for (int i = 0; i < count; i++) {
        distance[i] = dInfinity;
        if (contacts[i].depth > contacts[best].depth)
            best = i;
    }
    for (int kept = 0;; kept++) {
        dContactGeom chosen = contacts[best];
        contacts[best] = contacts[kept];
        contacts[kept] = chosen;
        distance[best] = distance[kept];
        if (kept + 1 == wanted || kept + 1 == count)
            return kept + 1;
        best = kept + 1;
        for (int i = kept + 1; i < count; i++) {
            dReal d[3];
            for (int k = 0; k < 3; k++)
                d[k] = contacts[i].pos[k] - chosen.pos[k];
            distance[i] = min_real(distance[i], dot3(d, d));
            if (distance[i] > distance[best])
                best = i;
        }
        if (distance[best] < SAME_PLACE * SAME_PLACE)
            return kept + 1;
    }
}

/* Set the surface velocity of a contact with a track. Returns 0 if the shape is no track.
 *
 * The track pushes its link along axis x normal, the normal pointing into the link: a positive
 * speed drives it like a wheel that turns positively about the axis. This holds at any depth;
 * Choreonoid does not drive contacts deeper than 5 mm, and so brakes heavy bodies and hard
 * landings.
 */
static int track_surface(const Pair *pair, int side, dContact *contact)
{
    const Body *body = pair->bodies[side], *other = pair->bodies[!side];
    int link = pair->geoms[side]->link, group = body->link_group[link];
    int other_group = other->link_group[pair->geoms[!side]->link];
    const dReal *local = body->track_axis + 3 * link;
    const dReal sign = side ? -1.0 : 1.0; /* ODE's normal points into the first geom */
    dReal axis[3], *along = contact->fdir1;
    if (dot3(local, local) == 0.0)
        return 0;
    memcpy(axis, local, sizeof axis);
    if (group >= 0)
        rotate4(axis, dBodyGetRotation(body->group[group]), local);
    cross3(along, axis, contact->geom.normal);
    dReal length = sqrt(dot3(along, along));
    if (length < 1e-5)
        return 0;
    for (int i = 0; i < 3; i++)
        along[i] *= sign / length;
    contact->surface.mode |= dContactFDir1 | dContactMotion1 | dContactMu2;
    /* ODE applies the motion to the joint's first body, which is never a static one. */
    int is_first = group >= 0 && (side == 0 || other_group < 0);
    dReal speed = live(body, DRIVE_TRACK_SPEED)[link];
    contact->surface.motion1 = is_first ? speed : -speed;
    contact->surface.mu2 = TRACK_SIDE_FRICTION;
    return 1;
}

static dBodyID group_of(const Body *body, const Geom *geom)
{
    int group = body->link_group[geom->link];
    return group < 0 ? NULL : body->group[group];
}

/* Record a contact. */
static void contact_record(const Pair *pair, const dContactGeom *contact, dJointID joint)
{
    ContactRecord record = {.joint = joint, .depth = contact->depth};
    for (int side = 0; side < 2; side++) {
        record.body[side] = pair->bodies[side]->id;
        record.link[side] = pair->geoms[side]->link;
    }
    record.is_first = group_of(pair->bodies[0], pair->geoms[0]) != NULL;
    memcpy(record.p, contact->pos, sizeof record.p);
    memcpy(record.normal, contact->normal, sizeof record.normal);
    records_append(pair->world, &record);
}

/* Create the contact joints of two shapes. */
static void pair_collide(const Pair *pair)
{
    dContactGeom found[MAX_FOUND];
    const Geom *a = pair->geoms[0], *b = pair->geoms[1];
    if (pair->world->contacts >= MAX_CONTACTS)
        return;
    double start = pair_costs_start(pair->world);
    int count = shapes_collide(pair->world, a->geom, b->geom, MAX_FOUND, found);
    if (count > 0)
        count = reduce(found, count, pair->world->max_contacts);
    pair_costs_append(pair->world, pair->bodies[0], a->link, pair->bodies[1], b->link, start);
    pair->world->contacts += count;
    pair->world->overflow_body = pair->bodies[0]->id;
    pair->world->overflow_link = a->link;
    for (int i = 0; i < count; i++) {
        dContact contact;
        memset(&contact, 0, sizeof contact);
        contact.geom = found[i];
        contact_surface(pair->world, a, b, &contact);
        if (!track_surface(pair, 0, &contact))
            track_surface(pair, 1, &contact);
        dJointID joint = contact_joint_create(pair->world, &contact, group_of(pair->bodies[0], a),
                                     group_of(pair->bodies[1], b));
        if (pair->world->record_contacts)
            contact_record(pair, &found[i], joint);
    }
}

static void sets_collide(World *world, const Body *a, const GeomSet *set_a, const Body *b,
                       const GeomSet *set_b)
{
    if (!boxes_overlap(set_a->box, set_b->box))
        return;
    for (int i = 0; i < set_a->colliding; i++) {
        const Geom *geom = &set_a->items[i];
        if (!boxes_overlap(geom->box, set_b->box))
            continue;
        for (int j = 0; j < set_b->colliding; j++)
            if (boxes_overlap(geom->box, set_b->items[j].box))
                pair_collide(&(Pair){world, {a, b}, {geom, &set_b->items[j]}});
    }
}

/* Create the contact joints of this step, in an order that depends on the state alone. */
void contacts_create(World *world)
{
    world->candidate_count = 0;
    world->contacts = 0;
    records_clear(world);
    pair_costs_clear(world);
    for (int i = 0; i < world->count; i++)
        set_update(&world->bodies[i]->moving, world->bodies[i]->moving.colliding);
    for (int i = 0; i < world->count; i++) {
        Body *a = world->bodies[i];
        for (size_t k = 0; k < a->self_pair_count; k++)
            if (boxes_overlap(a->self_pairs[k].a->box, a->self_pairs[k].b->box))
                pair_collide(&(Pair){world, {a, a}, {a->self_pairs[k].a, a->self_pairs[k].b}});
        for (int j = i + 1; j < world->count; j++) {
            Body *b = world->bodies[j];
            sets_collide(world, a, &a->moving, b, &b->moving);
            sets_collide(world, a, &a->moving, b, &b->fixed);
            sets_collide(world, a, &a->fixed, b, &b->moving);
        }
    }
    records_request_forces(world);
}

/* Return the number of pairs of a body's own shapes that may collide; write them to list if
 * given. */
static size_t self_pairs_collect(const Body *body, GeomPair *list)
{
    size_t moving = (size_t)body->moving.colliding, count = 0;
    for (size_t i = 0; i < moving; i++) {
        const Geom *a = &body->moving.items[i];
        const int *allowed = body->contacts + (size_t)a->link * (size_t)body->links;
        for (size_t j = i + 1; j < moving + (size_t)body->fixed.colliding; j++) {
            const Geom *b = j < moving ? &body->moving.items[j] : &body->fixed.items[j - moving];
            if (allowed[b->link] == CONTACT_NEVER)
                continue;
            if (list)
                list[count] = (GeomPair){a, b};
            count++;
        }
    }
    return count;
}

/* List the pairs of a body's own shapes that may collide. Returns 0 when memory is short. */
int self_pairs_list(const World *world, Body *body)
{
    if (!world->self_collision)
        return 1;
    size_t count = self_pairs_collect(body, NULL);
    body->self_pairs = malloc(sizeof *body->self_pairs * (count + 1));
    if (body->self_pairs)
        body->self_pair_count = self_pairs_collect(body, body->self_pairs);
    return body->self_pairs != NULL;
}

/* Whether two shapes of a body overlap by more than a depth. */
static int overlap(const World *world, const GeomPair *pair, dReal depth)
{
    dContactGeom found[MAX_FOUND];
    if (!boxes_overlap(pair->a->box, pair->b->box))
        return 0;
    int count = shapes_collide(world, pair->a->geom, pair->b->geom, MAX_FOUND, found);
    for (int i = 0; i < count; i++)
        if (found[i].depth > depth)
            return 1;
    return 0;
}

/* Add a pair of links to a list. Returns 0 when memory is short. */
static int pair_append(LinkPairs *list, int a, int b)
{
    if (list->count == list->capacity) {
        int capacity = 2 * list->capacity + 16;
        int(*grown)[2] = realloc(list->pairs, (size_t)capacity * sizeof *grown);
        if (!grown)
            return 0;
        list->pairs = grown;
        list->capacity = capacity;
    }
    list->pairs[list->count][0] = a;
    list->pairs[list->count++][1] = b;
    return 1;
}

/* Disable collisions of links that overlap, or touch, in the initial posture, and list them.
 * Returns 0 when memory is short. */
int overlaps_disable(World *world, Body *body, LinkPairs *disabled)
{
    size_t kept = 0;
    for (size_t k = 0; k < body->self_pair_count; k++) {
        int a = body->self_pairs[k].a->link, b = body->self_pairs[k].b->link;
        int *contact = &body->contacts[a * body->links + b];
        dReal depth = *contact == CONTACT_UNLESS_TOUCHING ? -1.0 : OVERLAP;
        if (*contact < CONTACT_UNLESS_OVERLAPPING || !overlap(world, &body->self_pairs[k], depth))
            continue;
        *contact = body->contacts[b * body->links + a] = CONTACT_NEVER;
        if (!pair_append(disabled, a, b))
            return 0;
    }
    for (size_t k = 0; k < body->self_pair_count; k++) {
        const GeomPair pair = body->self_pairs[k];
        if (body->contacts[pair.a->link * body->links + pair.b->link] != CONTACT_NEVER)
            body->self_pairs[kept++] = pair;
    }
    body->self_pair_count = kept;
    return 1;
}
