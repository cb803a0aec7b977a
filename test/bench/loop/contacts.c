/* Who touches whom, where, and how. */
#include "loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_PLACE 1e-6 /* contacts nearer than this are one, in [m] */
#define OVERLAP 1e-3    /* deeper at the start means drawn into each other, in [m] */

/* Keep the deepest contact, then always the one farthest from those kept. */
static int reduce(dContactGeom *c, int count, int wanted)
{
    double gap[FOUND];
    int best = 0, kept = 0;
    for (int i = 0; i < count; i++) {
        gap[i] = dInfinity;
        if (c[i].depth > c[best].depth)
            best = i;
    }
    while (kept < count && kept < wanted && gap[best] >= SAME_PLACE * SAME_PLACE) {
        dContactGeom chosen = c[best];
        c[best] = c[kept];
        c[kept] = chosen;
        gap[best] = gap[kept];
        best = ++kept;
        for (int i = kept; i < count; i++) {
            double d[3];
            for (int k = 0; k < 3; k++)
                d[k] = c[i].pos[k] - chosen.pos[k];
            gap[i] = fmin(gap[i], dot(d, d));
            if (gap[i] > gap[best])
                best = i;
        }
    }
    return kept;
}

/* Let a track push along axis x normal, the normal pointing into its link. */
static int track(const Tag *tag, const Tag *other, int side, dContact *contact)
{
    const Link *link = &scene.body[tag->body].link[tag->link];
    double axis[3], *along = contact->fdir1, sign = side ? -1.0 : 1.0;
    if (dot(link->track_axis, link->track_axis) == 0.0)
        return 0;
    memcpy(axis, link->track_axis, sizeof axis);
    if (tag->group)
        rotate(axis, dBodyGetRotation(tag->group), link->track_axis);
    cross(along, axis, contact->geom.normal);
    double length = sqrt(dot(along, along));
    if (length < 1e-5)
        return 0;
    for (int i = 0; i < 3; i++)
        along[i] *= sign / length;
    contact->surface.mode |= dContactFDir1 | dContactMotion1 | dContactMu2;
    contact->surface.mu2 = 0.5;
    int is_first = tag->group && (side == 0 || !other->group); /* of the joint's two bodies */
    contact->surface.motion1 = is_first ? link->track_speed : -link->track_speed;
    return 1;
}

static void surface(const Tag *x, const Tag *y, dContact *contact)
{
    int pair = x->material * scene.materials + y->material;
    contact->surface.mode = dContactApprox1;
    contact->surface.mu = scene.friction[pair];
    if (scene.restitution[pair] > 0.0) {
        double pull = fabs(dot(scene.gravity, contact->geom.normal));
        contact->surface.mode |= dContactBounce;
        contact->surface.bounce = scene.restitution[pair];
        contact->surface.bounce_vel = fmax(2.0 * pull * scene.step, 1e-4);
    }
}

static void touch(dGeomID a, dGeomID b)
{
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    dContactGeom found[FOUND];
    int count = dCollide(a, b, FOUND, found, sizeof *found);
    if (count)
        count = reduce(found, count, scene.max_contacts);
    for (int i = 0; i < count; i++) {
        dContact contact = {.geom = found[i]};
        surface(x, y, &contact);
        if (!track(x, y, 0, &contact))
            track(y, x, 1, &contact);
        dJointAttach(dJointCreateContact(scene.world, scene.contacts, &contact), x->group,
                     y->group);
    }
}

/* As the original plugin does it: every contact that is found, in place. */
static void touch_unreduced(dGeomID a, dGeomID b)
{
    static dContact contacts[FOUND_BY_ORIGINAL];
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    if (x->body == y->body)
        return;
    int count = dCollide(a, b, FOUND_BY_ORIGINAL, &contacts[0].geom, sizeof *contacts);
    for (int i = 0; i < count; i++) {
        surface(x, y, &contacts[i]);
        dJointAttach(dJointCreateContact(scene.world, scene.contacts, &contacts[i]), x->group,
                     y->group);
    }
}

static int *allowed(const Tag *x, const Tag *y)
{
    const Body *body = &scene.body[x->body];
    return &body->allowed[x->link * body->links + y->link];
}

static void near(void *data, dGeomID a, dGeomID b)
{
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, near);
        return;
    }
    if (scene.original) {
        touch_unreduced(a, b);
        return;
    }
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    if (x->body != y->body || (scene.self_collision && *allowed(x, y) != NEVER))
        touch(a, b);
}

static struct {
    dGeomID (*item)[2];
    int count, room;
} pairs;

/* The engine takes the earlier body first, of one body the shapes that move. */
static int is_before(const Tag *x, const Tag *y)
{
    if (x->body != y->body)
        return x->body < y->body;
    if (x->standing != y->standing)
        return x->standing < y->standing;
    return x->order < y->order;
}

static void remember(void *data, dGeomID a, dGeomID b)
{
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, remember);
        return;
    }
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    if (x->body == y->body && (!scene.self_collision || *allowed(x, y) == NEVER))
        return;
    if (pairs.count == pairs.room) {
        pairs.room = 2 * pairs.room + 64;
        pairs.item = realloc(pairs.item, sizeof *pairs.item * (size_t)pairs.room);
        if (!pairs.item)
            exit(1);
    }
    int keep = is_before(x, y);
    pairs.item[pairs.count][0] = keep ? a : b;
    pairs.item[pairs.count++][1] = keep ? b : a;
}

static int compare(const void *left, const void *right)
{
    const dGeomID *p = left, *q = right;
    const Tag *a = dGeomGetData(p[0]), *b = dGeomGetData(p[1]);
    const Tag *c = dGeomGetData(q[0]), *d = dGeomGetData(q[1]);
    int alone = a->body == b->body; /* one body's own pairs go shape by shape */
    int keys[][2] = {{a->body, c->body},
                     {b->body, d->body},
                     {a->standing, c->standing},
                     {alone ? a->order : 0, alone ? c->order : 0},
                     {b->standing, d->standing},
                     {a->order, c->order},
                     {b->order, d->order}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void collide(dNearCallback *callback)
{
    dSpaceCollide(scene.all, NULL, callback);
    for (int i = 0; scene.self_collision && i < scene.bodies; i++)
        if (scene.body[i].space != scene.all)
            dSpaceCollide(scene.body[i].space, NULL, callback);
}

void contacts_create(void)
{
    if (!scene.ordered || scene.original) {
        collide(near);
        return;
    }
    pairs.count = 0;
    collide(remember);
    qsort(pairs.item, (size_t)pairs.count, sizeof *pairs.item, compare);
    for (int i = 0; i < pairs.count; i++)
        touch(pairs.item[i][0], pairs.item[i][1]);
}

/* Let links of one body that overlap where they start pass through each other. */
static void forbid(void *data, dGeomID a, dGeomID b)
{
    dContactGeom found[FOUND];
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, forbid);
        return;
    }
    const Tag *x = dGeomGetData(a), *y = dGeomGetData(b);
    if (x->body != y->body || *allowed(x, y) != UNLESS_OVERLAPPING)
        return;
    int count = dCollide(a, b, FOUND, found, sizeof *found);
    for (int i = 0; i < count; i++)
        if (found[i].depth > OVERLAP)
            *allowed(x, y) = *allowed(y, x) = NEVER;
}

void overlaps_forbid(void)
{
    if (!scene.original)
        collide(forbid);
}
