/* Who touches whom, where, and how. */
#include "_core.h"

#include <math.h>
#include <string.h>

#define FOUND 512           /* contacts asked of ODE: it returns the first, not the best */
#define SAME_PLACE 1e-6      /* contacts nearer than this are one, in [m] */
#define OVERLAP 1e-3         /* deeper at the start means drawn into each other, in [m] */
#define TRACK_SIDE_FRICTION 0.5

typedef struct {
    World *world;
    const Body *bodies[2];
    const Geom *geoms[2];
} Pair;

static int boxes_meet(const dReal a[6], const dReal b[6])
{
    return a[0] <= b[1] && b[0] <= a[1] && a[2] <= b[3] && b[2] <= a[3] && a[4] <= b[5] &&
           b[4] <= a[5];
}

/* Bring the boxes around the first shapes of a set up to date. */
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
            set->box[2 * axis] = lesser(set->box[2 * axis], box[2 * axis]);
            set->box[2 * axis + 1] = greater(set->box[2 * axis + 1], box[2 * axis + 1]);
        }
    }
}

/* Bring the boxes around a body's shapes up to date. */
void boxes_update(Body *body)
{
    set_update(&body->moving, body->moving.count);
    set_update(&body->standing, body->standing.count);
}

/* Move the best contacts to the front: the deepest, then always the farthest from those kept. */
static int reduce(dContactGeom *contacts, int count, int wanted)
{
    dReal distance[FOUND];
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
            distance[i] = lesser(distance[i], dot3(d, d));
            if (distance[i] > distance[best])
                best = i;
        }
        if (distance[best] < SAME_PLACE * SAME_PLACE)
            return kept + 1;
    }
}

/* Let the surface of a track run along its contact. Returns whether it does.
 *
 * The track pushes its link along axis x normal, the normal pointing into the link: a
 * positive speed drives it as a wheel that turns positively about the axis would. That holds
 * at any depth: Choreonoid leaves contacts deeper than 5 mm undriven, and so brakes what lands
 * hard or is heavy.
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
    /* ODE means the motion of the joint's first body; what stands still is never the first. */
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

/* Keep a contact for who wants to know of it. */
static void tell(const Pair *pair, const dContactGeom *contact, dJointID joint)
{
    Told told = {.joint = joint, .depth = contact->depth};
    for (int side = 0; side < 2; side++) {
        told.body[side] = pair->bodies[side]->id;
        told.link[side] = pair->geoms[side]->link;
    }
    told.is_first = group_of(pair->bodies[0], pair->geoms[0]) != NULL;
    memcpy(told.p, contact->pos, sizeof told.p);
    memcpy(told.normal, contact->normal, sizeof told.normal);
    told_add(pair->world, &told);
}

static void touch(const Pair *pair)
{
    dContactGeom found[FOUND];
    const Geom *a = pair->geoms[0], *b = pair->geoms[1];
    if (pair->world->contacts >= MOST_CONTACTS)
        return;
    int count = shapes_collide(pair->world, a->geom, b->geom, FOUND, found);
    if (count > 0)
        count = reduce(found, count, pair->world->max_contacts);
    pair->world->contacts += count;
    pair->world->crowded_body = pair->bodies[0]->id;
    pair->world->crowded_link = a->link;
    for (int i = 0; i < count; i++) {
        dContact contact;
        memset(&contact, 0, sizeof contact);
        contact.geom = found[i];
        contact_surface(pair->world, a, b, &contact);
        if (!track_surface(pair, 0, &contact))
            track_surface(pair, 1, &contact);
        dJointID joint = contact_add(pair->world, &contact, group_of(pair->bodies[0], a),
                                     group_of(pair->bodies[1], b));
        if (pair->world->tells)
            tell(pair, &found[i], joint);
    }
}

static void sets_touch(World *world, const Body *a, const GeomSet *set_a, const Body *b,
                       const GeomSet *set_b)
{
    if (!boxes_meet(set_a->box, set_b->box))
        return;
    for (int i = 0; i < set_a->touching; i++) {
        const Geom *geom = &set_a->items[i];
        if (!boxes_meet(geom->box, set_b->box))
            continue;
        for (int j = 0; j < set_b->touching; j++)
            if (boxes_meet(geom->box, set_b->items[j].box))
                touch(&(Pair){world, {a, b}, {geom, &set_b->items[j]}});
    }
}

/* Make the contact joints of this step, in an order that depends on the state alone. */
void contacts_create(World *world)
{
    world->touches = 0;
    world->contacts = 0;
    told_begin(world);
    for (int i = 0; i < world->count; i++)
        set_update(&world->bodies[i]->moving, world->bodies[i]->moving.touching);
    for (int i = 0; i < world->count; i++) {
        Body *a = world->bodies[i];
        for (size_t k = 0; k < a->own_count; k++)
            if (boxes_meet(a->own[k].a->box, a->own[k].b->box))
                touch(&(Pair){world, {a, a}, {a->own[k].a, a->own[k].b}});
        for (int j = i + 1; j < world->count; j++) {
            Body *b = world->bodies[j];
            sets_touch(world, a, &a->moving, b, &b->moving);
            sets_touch(world, a, &a->moving, b, &b->standing);
            sets_touch(world, a, &a->standing, b, &b->moving);
        }
    }
    told_ask(world);
}

/* Count the pairs of a body's own shapes that may touch, and list them where there is a list. */
static size_t own_pairs_walk(const Body *body, GeomPair *list)
{
    size_t moving = (size_t)body->moving.touching, count = 0;
    for (size_t i = 0; i < moving; i++) {
        const Geom *a = &body->moving.items[i];
        const int *allowed = body->contacts + (size_t)a->link * (size_t)body->links;
        for (size_t j = i + 1; j < moving + (size_t)body->standing.touching; j++) {
            const Geom *b = j < moving ? &body->moving.items[j] : &body->standing.items[j - moving];
            if (allowed[b->link] == CONTACT_NEVER)
                continue;
            if (list)
                list[count] = (GeomPair){a, b};
            count++;
        }
    }
    return count;
}

/* List the pairs of a body's own shapes that may touch. Returns 0 when memory is short. */
int own_pairs_list(const World *world, Body *body)
{
    if (!world->self_collision)
        return 1;
    size_t count = own_pairs_walk(body, NULL);
    body->own = malloc(sizeof *body->own * (count + 1));
    if (body->own)
        body->own_count = own_pairs_walk(body, body->own);
    return body->own != NULL;
}

/* Whether two shapes of a body are drawn into each other. */
static int overlap(const World *world, const GeomPair *pair)
{
    dContactGeom found[FOUND];
    if (!boxes_meet(pair->a->box, pair->b->box))
        return 0;
    int count = shapes_collide(world, pair->a->geom, pair->b->geom, FOUND, found);
    for (int i = 0; i < count; i++)
        if (found[i].depth > OVERLAP)
            return 1;
    return 0;
}

/* Add a pair of links to a list. Returns 0 when memory is short. */
static int pair_append(LinkPairs *list, int a, int b)
{
    if (list->count == list->room) {
        int room = 2 * list->room + 16;
        int(*grown)[2] = realloc(list->pairs, (size_t)room * sizeof *grown);
        if (!grown)
            return 0;
        list->pairs = grown;
        list->room = room;
    }
    list->pairs[list->count][0] = a;
    list->pairs[list->count++][1] = b;
    return 1;
}

/* Let links that overlap where they start pass through each other, and list them. Returns 0 when
 * memory is short. */
int overlaps_forbid(World *world, Body *body, LinkPairs *forbidden)
{
    size_t kept = 0;
    for (size_t k = 0; k < body->own_count; k++) {
        int a = body->own[k].a->link, b = body->own[k].b->link;
        int *there = &body->contacts[a * body->links + b];
        if (*there != CONTACT_UNLESS_OVERLAPPING || !overlap(world, &body->own[k]))
            continue;
        *there = body->contacts[b * body->links + a] = CONTACT_NEVER;
        if (!pair_append(forbidden, a, b))
            return 0;
    }
    for (size_t k = 0; k < body->own_count; k++) {
        const GeomPair pair = body->own[k];
        if (body->contacts[pair.a->link * body->links + pair.b->link] != CONTACT_NEVER)
            body->own[kept++] = pair;
    }
    body->own_count = kept;
    return 1;
}
