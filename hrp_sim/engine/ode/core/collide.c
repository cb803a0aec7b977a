/* Collision detection and contact joints. */
#include "collide.h"
#include "bounds.h"
#include "contact_set.h"
#include "distance.h"
#include "exact.h"
#include "guard.h"
#include "joints.h"
#include "loops.h"
#include "materials.h"
#include "records.h"
#include "shape_contacts.h"
#include "sleep.h"
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OVERLAP 1e-3      /* links that overlap deeper initially never collide, in [m] */
#define NEAR 0.01         /* distance of links of one body to look at in each step, in [m] */
#define TRACK_SIDE_FRICTION 0.5
#define UPRIGHT 0.9999    /* cosine of the tilt of a cylinder on its cap */
#define MIN_SLIP 1e-6     /* slower slip has no direction, in [m/s] */
#define DECELERATION 10.0 /* approximate deceleration by friction with mu = 1, in [m/s^2] */

/* Two links that may touch. */
typedef struct {
    World *world;
    const Body *bodies[2];
    LinkShapes *links[2];
    LinkPair *own; /* if they are those of one body, or NULL */
} Pair;

/* One thread at a time is in ODE, so one is enough. */
static ContactSet contacts;

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
    const dReal *local = body->track_axis + 3 * link;
    if (local[0] == 0.0 && local[1] == 0.0 && local[2] == 0.0)
        return 0;
    int other_group = other->link_group[pair->links[!side]->link];
    const dReal sign = side ? -1.0 : 1.0; /* ODE's normal points into the first geom */
    dReal axis[3], *along = contact->fdir1;
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
    hrp_to_group_frame(arm, group < 0 ? NULL : body->group[group], contact->geom.pos, 1);
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
    hrp_records_append(pair->world, &record);
}

/* Return the radius of a cylinder that stands on its cap at a contact, or 0. */
static dReal cap_radius(const ContactPoint *point)
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

/* Align friction with the slip, given as the velocity of a relative to b after the step if no
 * constraint acted on them; across it allow only what a step can turn the slip by.
 *
 * ODE bounds friction along two directions by mu times the normal force each. By default they are
 * fixed axes of the world: friction is then up to sqrt(2) mu between them and deflects sliding
 * bodies. Coulomb friction is mu opposite to the slip, present or impending, and zero across it.
 * Without slip there is no direction, and friction acts along both.
 */
static void friction_align(const World *world, dReal slip[3], dContact *contact)
{
    const dReal *normal = contact->geom.normal;
    dReal parting = dot3(slip, normal);
    for (int i = 0; i < 3; i++)
        slip[i] -= parting * normal[i];
    dReal speed = sqrt(dot3(slip, slip));
    if (speed < MIN_SLIP)
        return;
    for (int i = 0; i < 3; i++)
        contact->fdir1[i] = slip[i] / speed;
    contact->surface.mode |= dContactFDir1 | dContactMu2;
    dReal stopped = DECELERATION * min_real(contact->surface.mu, 1.0) * world->step;
    contact->surface.mu2 = contact->surface.mu * min_real(1.0, stopped / speed);
}

/* Add the velocity of a point of a group after the step if no constraint acted on it. */
static void free_velocity_add(const World *world, dBodyID group, const dReal *at, dReal sign,
                              dReal sum[3])
{
    dVector3 velocity, gravity;
    dMass mass;
    if (!group)
        return;
    const dReal *force = dBodyGetForce(group);
    dBodyGetMass(group, &mass);
    dBodyGetPointVel(group, at[0], at[1], at[2], velocity);
    dWorldGetGravity(world->world, gravity);
    for (int i = 0; i < 3; i++)
        sum[i] += sign * (velocity[i] + (gravity[i] + force[i] / mass.mass) * world->step);
}

/* Compute the slip of two groups at a contact if no constraint acted on them in the step. */
static void free_slip(const World *world, dBodyID a, dBodyID b, const dContact *contact,
                      dReal slip[3])
{
    slip[0] = slip[1] = slip[2] = 0.0;
    free_velocity_add(world, a, contact->geom.pos, 1.0, slip);
    free_velocity_add(world, b, contact->geom.pos, -1.0, slip);
}

/* Create the joint of a contact for ODE's iterative solver; the normal points into a. */
static dJointID contact_joint_create(World *world, dContact *contact, dBodyID a, dBodyID b)
{
    if (!(contact->surface.mode & dContactFDir1)) {
        dReal slip[3];
        free_slip(world, a, b, contact, slip);
        friction_align(world, slip, contact);
    }
    dJointID joint = dJointCreateContact(world->world, world->contact_group, contact);
    dJointAttach(joint, a, b);
    return joint;
}

/* Create a contact. */
static void contact_create(const Pair *pair, const ContactPoint *point)
{
    World *world = pair->world;
    dBodyID a = pair->links[0]->group, b = pair->links[1]->group;
    dJointID joint = NULL;
    dContact contact;
    memset(&contact, 0, sizeof contact);
    contact.geom = point->at;
    hrp_contact_surface(world, point->a, point->b, &contact);
    if (!track_surface(pair, 0, &contact) && !track_surface(pair, 1, &contact) &&
        (pair->bodies[0]->conveys || pair->bodies[1]->conveys) &&
        !conveyor_surface(pair, 0, &contact))
        conveyor_surface(pair, 1, &contact);
    if (!world->system && world->has_springs)
        depth_adapt(world, &contact);
    if (world->system)
        hrp_touch_create(world, &contact, a, b, point->cluster, cap_radius(point));
    else
        joint = contact_joint_create(world, &contact, a, b);
    if (world->record_contacts || hrp_may_sleep(world, pair->bodies, pair->links))
        contact_record(pair, &point->at, joint);
}

/* Whether two bounds are apart. If so, set the limit, if there is one, of the travel up to which
 * they remain so. */
static int are_apart(dReal travel, const Bound *a, const Bound *b, dReal *limit)
{
    if (limit && travel < *limit)
        return 1;
    dReal distance = hrp_bounds_distance(a, b) - BOUND_MARGIN;
    if (limit)
        *limit = distance > 0.0 ? travel + distance : min_real(*limit, 0.0);
    return distance > 0.0;
}

/* Whether two links are apart. If so, set the limit of their travels up to which they remain so,
 * wherever they are within their slack; else their bounds are where they are. */
static int links_are_apart(LinkPair *pair)
{
    LinkShapes *a = pair->links[0], *b = pair->links[1];
    if (a->travel + b->travel < pair->limit)
        return 1;
    hrp_link_place(a);
    hrp_link_place(b);
    if (!are_apart(a->travel + b->travel, &a->now, &b->now, &pair->limit))
        return 0;
    pair->limit -= 2.0 * BOUND_SLACK;
    return 1;
}

/* Whether a mesh and another shape of the same body are apart, though their bounds are not; the
 * limit is set as above. ODE takes longer to find that two meshes do not touch. Those that touched
 * are not looked at until they do no more. */
static int surfaces_are_apart(dReal travel, const Geom *a, const Geom *b, dReal *limit)
{
    if (dGeomGetClass(a->geom) != dTriMeshClass && dGeomGetClass(b->geom) != dTriMeshClass)
        return 0;
    if (travel < *limit)
        return 1;
    if (*limit < 0.0)
        return 0;
    const dReal distance = hrp_surfaces_distance(a, b, NEAR) - BOUND_MARGIN;
    *limit = distance > 0.0 ? travel + distance : 0.0;
    return distance > 0.0;
}

/* Find the contacts of two shapes; limit: of them, or NULL. */
static void shapes_collide(const Pair *pair, const Geom *a, const Geom *b, dReal *limit)
{
    const int before = contacts.count;
    if (limit && surfaces_are_apart(pair->own->travel, a, b, limit))
        return;
    hrp_shapes_collide(pair->world, &contacts, a, b);
    if (limit)
        *limit = contacts.count > before ? -1.0 : 0.0;
}

/* Find the contacts of a shape of one link with all shapes of the other one. */
static void shape_collide(const Pair *pair, int side, int s)
{
    const LinkShapes *own = pair->links[side], *other = pair->links[!side];
    const Geom *shape = &own->shapes[s];
    int is_tested = pair->own && own->count == 1 && other->count == 1; /* as links */
    const dReal travel = pair->own ? pair->own->travel : 0.0;
    if (!boxes_overlap(shape->now.box, other->now.box))
        return;
    for (int k = 0; k < other->count; k++) {
        const Geom *a = side ? &other->shapes[k] : shape, *b = side ? shape : &other->shapes[k];
        const int i = side ? k * own->count + s : s * other->count + k;
        dReal *limit = pair->own ? pair->own->limits + i : NULL;
        if (boxes_overlap(a->now.box, b->now.box) &&
            (is_tested || !are_apart(travel, &a->now, &b->now, limit)))
            shapes_collide(pair, a, b, limit);
    }
}

/* Find the contacts of two links. */
static void links_find(const Pair *pair)
{
    contacts.count = 0;
    hrp_shapes_place(pair->links[0]);
    hrp_shapes_place(pair->links[1]);
    /* Most shapes of a large link, such as a terrain, are away from the other link. */
    int side = pair->links[1]->count > pair->links[0]->count;
    for (int s = 0; s < pair->links[side]->count; s++)
        shape_collide(pair, side, s);
}

/* Create the contact joints of two links. */
static void links_collide(const Pair *pair)
{
    World *world = pair->world;
    if (world->contacts >= MAX_CONTACTS || hrp_is_interrupted(world) ||
        (world->body_joint_count && hrp_body_joints_connect(world, pair->bodies, pair->links)))
        return;
    /* All shapes of a link have its material. */
    if (!hrp_materials_collide(world, pair->links[0]->shapes->material,
                               pair->links[1]->shapes->material))
        return;
    const int wakes = hrp_touch_wakes(pair->bodies, pair->links);
    if (world->is_touched && !wakes)
        return; /* the step is to be repeated */
    double start = hrp_pair_costs_start(world);
    world->collide_failed = 0;
    links_find(pair);
    if (world->collide_failed)
        hrp_failed_pairs_append(world, pair->bodies[0], pair->links[0]->link, pair->bodies[1],
                                pair->links[1]->link);
    if (wakes && contacts.count)
        hrp_touch_note(world, pair->bodies);
    if (wakes)
        return;
    hrp_contact_set_reduce(&contacts, world->max_contacts);
    hrp_pair_costs_append(world, pair->bodies[0], pair->links[0]->link, pair->bodies[1],
                          pair->links[1]->link, start);
    world->contacts += contacts.count;
    world->overflow_body = pair->bodies[0]->id;
    world->overflow_link = pair->links[0]->link;
    hrp_touches_begin(world);
    for (int i = 0; i < contacts.count; i++)
        contact_create(pair, &contacts.points[i]);
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
        if (links_are_apart(pair))
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
        if (links_are_apart(near))
            continue;
        hrp_pair_travel(near);
        links_collide(&(Pair){world, {body, body}, {a, b}, near});
    }
}

static void bodies_collide(World *world, const Body *a, const Body *b)
{
    if (!a->asleep || !b->asleep)
        sets_collide(world, a, &a->moving, b, &b->moving);
    if (!a->asleep)
        sets_collide(world, a, &a->moving, b, &b->fixed);
    if (!b->asleep)
        sets_collide(world, a, &a->fixed, b, &b->moving);
}

void hrp_contacts_create(World *world)
{
    world->touch_count = 0;
    world->contacts = world->sleeper_count;
    hrp_records_clear(world);
    hrp_pair_costs_clear(world);
    if (world->awake_count == 0)
        return;
    for (int i = 0; i < world->awake_count; i++)
        hrp_bounds_place(world->awake[i], BOUND_SLACK);
    int is_swept = hrp_sweep_pairs(world);
    const BodyPair *pair = world->sweep.found, *end = pair + world->sweep.pair_count;
    for (int i = 0; i < world->count; i++) {
        if (!world->bodies[i]->asleep)
            body_collide(world, world->bodies[i]);
        for (; is_swept && pair < end && pair->bodies[0] == i; pair++)
            bodies_collide(world, world->bodies[i], world->bodies[pair->bodies[1]]);
        for (int j = i + 1; !is_swept && j < world->count; j++) /* memory is short */
            bodies_collide(world, world->bodies[i], world->bodies[j]);
    }
    hrp_records_request_forces(world);
}

/* Whether two links of a body overlap by more than a depth. */
static int overlap(World *world, const Body *body, const LinkPair *own, dReal depth)
{
    links_find(&(Pair){world, {body, body}, {own->links[0], own->links[1]}, NULL});
    for (int i = 0; i < contacts.count; i++)
        if (contacts.points[i].at.depth > depth)
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

int hrp_overlaps_disable(World *world, Body *body, LinkNumbers *disabled)
{
    size_t kept = 0;
    hrp_bounds_place(body, 0.0);
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
