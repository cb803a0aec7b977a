/* Collision detection and contact joints. */
#include "_core_collision.h"

#include <math.h>
#include <string.h>

#define OVERLAP 1e-3      /* links that overlap deeper initially never collide, in [m] */
#define NEAR 0.01         /* distance of links of one body to look at in each step, in [m] */
#define TRACK_SIDE_FRICTION 0.5
#define UPRIGHT 0.9999    /* cosine of the tilt of a cylinder on its cap */

/* Two links that may touch. */
typedef struct {
    World *world;
    const Body *bodies[2];
    LinkShapes *links[2];
    dReal *limits; /* of their shapes, see LinkPair; NULL if there are none */
} Pair;

/* One thread at a time is in ODE, so one is enough. */
static Patch patch;

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
    int link = pair->links[side]->link, group = body->link_group[link];
    int other_group = other->link_group[pair->links[!side]->link];
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

/* Set the surface velocity of a contact with a link whose surface moves like a conveyor. Returns 0
 * if it does not move along the contact. */
static int conveyor_surface(const Pair *pair, int side, dContact *contact)
{
    const Body *body = pair->bodies[side], *other = pair->bodies[!side];
    int link = pair->links[side]->link, group = body->link_group[link];
    int other_group = other->link_group[pair->links[!side]->link];
    const dReal *local = live(body, DRIVE_SURFACE_VELOCITY) + 6 * link;
    if (dot3(local, local) == 0.0 && dot3(local + 3, local + 3) == 0.0)
        return 0;
    const dReal *link_R = body->link_R + 9 * link, *normal = contact->geom.normal;
    dReal w[3], v[3], arm[3], turning[3];
    rotate3(w, link_R, local);
    rotate3(v, link_R, local + 3);
    to_group_frame(arm, group < 0 ? NULL : body->group[group], contact->geom.pos, 1);
    for (int i = 0; i < 3; i++)
        arm[i] -= body->link_p[3 * link + i];
    cross3(turning, w, arm);
    for (int i = 0; i < 3; i++)
        v[i] += turning[i];
    dReal *along = contact->fdir1;
    memcpy(along, v, sizeof v);
    if (group >= 0)
        rotate4(along, dBodyGetRotation(body->group[group]), v);
    dReal up = dot3(along, normal);
    for (int i = 0; i < 3; i++)
        along[i] -= up * normal[i];
    dReal speed = sqrt(dot3(along, along));
    if (speed < 1e-9)
        return 0;
    for (int i = 0; i < 3; i++)
        along[i] /= speed;
    contact->surface.mode |= dContactFDir1 | dContactMotion1;
    if (contact->surface.mode & dContactMu2)
        contact->surface.mu = contact->surface.mu2 =
            min_real(contact->surface.mu, contact->surface.mu2);
    /* ODE gives the motion to the joint's first body, which is never a static one, relative to the
     * second. The first one lags behind its own surface. */
    int is_first = group >= 0 && (side == 0 || other_group < 0);
    contact->surface.motion1 = is_first ? -speed : speed;
    return 1;
}

/* Record a contact. */
static void contact_record(const Pair *pair, const dContactGeom *contact, dJointID joint)
{
    ContactRecord record = {.joint = joint, .depth = contact->depth};
    for (int side = 0; side < 2; side++) {
        record.body[side] = pair->bodies[side]->id;
        record.link[side] = pair->links[side]->link;
    }
    record.is_first = pair->links[0]->group != NULL;
    memcpy(record.p, contact->pos, sizeof record.p);
    memcpy(record.normal, contact->normal, sizeof record.normal);
    records_append(pair->world, &record);
}

/* Return the radius of a cylinder that stands on its cap at a contact, or 0. */
static dReal cap_radius(const PatchPoint *point)
{
    const Geom *shapes[2] = {point->a, point->b};
    for (int i = 0; i < 2; i++) {
        if (dGeomGetClass(shapes[i]->geom) != dCylinderClass)
            continue;
        const dReal *R = dGeomGetRotation(shapes[i]->geom), axis[3] = {R[2], R[6], R[10]};
        dReal radius, length;
        dGeomCylinderGetParams(shapes[i]->geom, &radius, &length);
        if (fabs(dot3(axis, point->at.normal)) > UPRIGHT)
            return radius;
    }
    return 0.0;
}

/* Adapt the depth of a contact to ODE's solvers, as the exact one has it: springs have neither a
 * surface layer, which ODE subtracts, nor a maximum speed of separation, which is off in ODE. */
static void depth_adapt(const World *world, dContact *contact)
{
    dReal layer = dWorldGetContactSurfaceLayer(world->world);
    dReal rate = dWorldGetERP(world->world) / world->step, *depth = &contact->geom.depth;
    if (contact->surface.mode & dContactSoftERP)
        *depth += layer;
    else if (rate > 0.0)
        *depth = min_real(*depth, layer + world->max_correcting_velocity / rate);
}

/* Create a contact. */
static void contact_create(const Pair *pair, const PatchPoint *point)
{
    World *world = pair->world;
    dBodyID a = pair->links[0]->group, b = pair->links[1]->group;
    dJointID joint = NULL;
    dContact contact;
    memset(&contact, 0, sizeof contact);
    contact.geom = point->at;
    contact_surface(world, point->a, point->b, &contact);
    if (!track_surface(pair, 0, &contact) && !track_surface(pair, 1, &contact) &&
        (pair->bodies[0]->conveys || pair->bodies[1]->conveys) &&
        !conveyor_surface(pair, 0, &contact))
        conveyor_surface(pair, 1, &contact);
    if (!world->system && world->has_springs)
        depth_adapt(world, &contact);
    if (world->system)
        touch_create(world, &contact, a, b, point->cluster, cap_radius(point));
    else
        joint = contact_joint_create(world, &contact, a, b);
    if (world->record_contacts)
        contact_record(pair, &point->at, joint);
}

/* Whether two bounds on two links are apart. If so, set the limit, if there is one, of the links'
 * travels up to which they remain so. */
static int are_apart(LinkShapes *const links[2], const Bound *a, const Bound *b, dReal *limit)
{
    dReal travel = links[0]->travel + links[1]->travel;
    if (limit && travel < *limit)
        return 1;
    dReal distance = bounds_distance(a, b) - BOUND_MARGIN;
    if (limit)
        *limit = distance > 0.0 ? travel + distance : 0.0;
    return distance > 0.0;
}

/* Find the contacts of a shape of one link with all shapes of the other one. */
static void shape_collide(const Pair *pair, int side, int s)
{
    const LinkShapes *own = pair->links[side], *other = pair->links[!side];
    const Geom *shape = &own->shapes[s];
    int is_tested = pair->limits && own->count == 1 && other->count == 1; /* as links */
    if (!boxes_overlap(shape->now.box, other->now.box))
        return;
    for (int k = 0; k < other->count; k++) {
        const Geom *a = side ? &other->shapes[k] : shape, *b = side ? shape : &other->shapes[k];
        int i = side ? k * own->count + s : s * other->count + k;
        if (boxes_overlap(a->now.box, b->now.box) &&
            (is_tested || !are_apart(pair->links, &a->now, &b->now,
                                     pair->limits ? pair->limits + i : NULL)))
            shapes_collide(pair->world, &patch, a, b);
    }
}

/* Find the contacts of two links. */
static void links_find(const Pair *pair)
{
    patch.count = 0;
    shapes_place(pair->links[0]);
    shapes_place(pair->links[1]);
    /* Most shapes of a large link, such as a terrain, are away from the other link. */
    int side = pair->links[1]->count > pair->links[0]->count;
    for (int s = 0; s < pair->links[side]->count; s++)
        shape_collide(pair, side, s);
}

/* Create the contact joints of two links. */
static void links_collide(const Pair *pair)
{
    World *world = pair->world;
    if (world->contacts >= MAX_CONTACTS || is_interrupted(world) ||
        (world->body_joint_count && body_joints_connect(world, pair->bodies, pair->links)))
        return;
    /* All shapes of a link have its material. */
    if (!materials_collide(world, pair->links[0]->shapes->material,
                           pair->links[1]->shapes->material))
        return;
    double start = pair_costs_start(world);
    world->collide_failed = 0;
    links_find(pair);
    if (world->collide_failed)
        failed_pairs_append(world, pair->bodies[0], pair->links[0]->link, pair->bodies[1],
                            pair->links[1]->link);
    patch_reduce(&patch, world->max_contacts);
    pair_costs_append(world, pair->bodies[0], pair->links[0]->link, pair->bodies[1],
                      pair->links[1]->link, start);
    world->contacts += patch.count;
    world->overflow_body = pair->bodies[0]->id;
    world->overflow_link = pair->links[0]->link;
    touches_begin(world);
    for (int i = 0; i < patch.count; i++)
        contact_create(pair, &patch.points[i]);
}

static void sets_collide(World *world, const Body *a, const GeomSet *set_a, const Body *b,
                         const GeomSet *set_b)
{
    if (!boxes_overlap(set_a->box, set_b->box))
        return;
    for (int i = 0; i < set_a->link_count; i++) {
        LinkShapes *link = &set_a->links[i];
        if (!boxes_overlap(link->now.box, set_b->box))
            continue;
        for (int j = 0; j < set_b->link_count; j++)
            if (boxes_overlap(link->now.box, set_b->links[j].now.box))
                links_collide(&(Pair){world, {a, b}, {link, &set_b->links[j]}, NULL});
    }
}

/* List the pairs of a body's own links that may touch before its links have moved by half the room
 * that is left between all others. */
static void near_pairs_list(Body *body)
{
    dReal room = dInfinity;
    body->near_count = 0;
    for (size_t k = 0; k < body->pair_count; k++) {
        LinkPair *pair = &body->pairs[k];
        dReal left = 0.0;
        LinkShapes *a = pair->links[0], *b = pair->links[1];
        if (are_apart(pair->links, &a->now, &b->now, &pair->limit))
            left = pair->limit - a->travel - b->travel;
        if (left < NEAR)
            body->near[body->near_count++] = pair;
        else
            room = min_real(room, left);
    }
    body->room = room;
}

/* Create the contact joints of a body's own links. */
static void body_collide(World *world, Body *body)
{
    if (!(body->room > 0.0))
        near_pairs_list(body);
    for (size_t k = 0; k < body->near_count; k++) {
        LinkPair *near = body->near[k];
        LinkShapes *a = near->links[0], *b = near->links[1];
        if (!are_apart(near->links, &a->now, &b->now, &near->limit))
            links_collide(&(Pair){world, {body, body}, {a, b}, near->limits});
    }
}

static void bodies_collide(World *world, const Body *a, const Body *b)
{
    sets_collide(world, a, &a->moving, b, &b->moving);
    sets_collide(world, a, &a->moving, b, &b->fixed);
    sets_collide(world, a, &a->fixed, b, &b->moving);
}

/* Create the contact joints of this step, in an order that depends on the state alone. */
void contacts_create(World *world)
{
    world->touch_count = 0;
    world->contacts = 0;
    records_clear(world);
    pair_costs_clear(world);
    for (int i = 0; i < world->count; i++)
        bounds_place(world->bodies[i]);
    int is_swept = sweep_pairs(world);
    const BodyPair *pair = world->sweep.found, *end = pair + world->sweep.pair_count;
    for (int i = 0; i < world->count; i++) {
        body_collide(world, world->bodies[i]);
        for (; is_swept && pair < end && pair->bodies[0] == i; pair++)
            bodies_collide(world, world->bodies[i], world->bodies[pair->bodies[1]]);
        for (int j = i + 1; !is_swept && j < world->count; j++) /* memory is short */
            bodies_collide(world, world->bodies[i], world->bodies[j]);
    }
    records_request_forces(world);
}

/* Append the pairs of a link with later links of its body that it may collide with, if there is
 * a list. */
static void pairs_append(Body *body, LinkShapes *a, GeomSet *set, int first)
{
    const int *allowed = body->contacts + (size_t)a->link * (size_t)body->links;
    for (int j = first; j < set->link_count; j++) {
        LinkShapes *b = &set->links[j];
        if (allowed[b->link] == CONTACT_NEVER || a->group == b->group)
            continue;
        if (body->pairs)
            body->pairs[body->pair_count] =
                (LinkPair){{a, b}, 0.0, body->limits + body->limit_count};
        body->pair_count++;
        body->limit_count += (size_t)a->count * (size_t)b->count;
    }
}

static void pairs_collect(Body *body)
{
    body->pair_count = body->limit_count = 0;
    for (int i = 0; i < body->moving.link_count; i++) {
        pairs_append(body, &body->moving.links[i], &body->moving, i + 1);
        pairs_append(body, &body->moving.links[i], &body->fixed, 0);
    }
}

/* List the pairs of a body's own links that may collide. Returns 0 when memory is short. */
int link_pairs_list(const World *world, Body *body)
{
    if (!world->self_collision)
        return 1;
    pairs_collect(body);
    body->near = malloc(sizeof *body->near * (body->pair_count + 1));
    body->limits = calloc(body->limit_count + 1, sizeof *body->limits);
    body->pairs = malloc(sizeof *body->pairs * (body->pair_count + 1));
    if (!body->near || !body->limits || !body->pairs)
        return 0;
    pairs_collect(body);
    return 1;
}

/* Whether two links of a body overlap by more than a depth. */
static int overlap(World *world, const Body *body, const LinkPair *own, dReal depth)
{
    links_find(&(Pair){world, {body, body}, {own->links[0], own->links[1]}, NULL});
    for (int i = 0; i < patch.count; i++)
        if (patch.points[i].at.depth > depth)
            return 1;
    return 0;
}

/* Add a pair of links to a list. Returns 0 when memory is short. */
static int pair_append(LinkNumbers *list, int a, int b)
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
int overlaps_disable(World *world, Body *body, LinkNumbers *disabled)
{
    size_t kept = 0;
    bounds_place(body);
    for (size_t k = 0; k < body->pair_count; k++) {
        const LinkPair pair = body->pairs[k];
        int a = pair.links[0]->link, b = pair.links[1]->link;
        int *contact = &body->contacts[a * body->links + b];
        dReal depth = *contact == CONTACT_UNLESS_TOUCHING ? -1.0 : OVERLAP;
        if (*contact < CONTACT_UNLESS_OVERLAPPING || !overlap(world, body, &pair, depth)) {
            body->pairs[kept++] = pair;
            continue;
        }
        *contact = body->contacts[b * body->links + a] = CONTACT_NEVER;
        if (!pair_append(disabled, a, b))
            return 0;
    }
    body->pair_count = kept;
    return 1;
}
