/* Collision detection. */
#include "loop.h"

#include <stdlib.h>

#define OVERLAP 1e-3 /* links that overlap deeper initially never collide, in [m] */

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
        touch_as_original(a, b);
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

/* In the engine's order: the earlier body first, within one body the moving shapes. */
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
    int alone = a->body == b->body; /* pairs of one body are checked shape by shape */
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

/* Disable collisions of links of one body that overlap in the initial posture. */
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
    int count = found_between(a, b, found);
    for (int i = 0; i < count; i++)
        if (found[i].depth > OVERLAP)
            *allowed(x, y) = *allowed(y, x) = NEVER;
}

void overlaps_forbid(void)
{
    if (!scene.original)
        collide(forbid);
}
