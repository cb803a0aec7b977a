/* Collision detection. */
#include "loop.h"

#include <stdlib.h>

#define OVERLAP 1e-3 /* links that overlap deeper initially never collide, in [m] */

static int *allowed(const Tag *x, const Tag *y)
{
    const Body *body = &scene.body[x->body];
    return &body->allowed[x->link * body->links + y->link];
}

static void near_of_original(void *data, dGeomID a, dGeomID b)
{
    if (dGeomIsSpace(a) || dGeomIsSpace(b))
        dSpaceCollide2(a, b, data, near_of_original);
    else
        touch_as_original(a, b);
}

/* Pairs of shapes that may touch. */
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

static void near(void *data, dGeomID a, dGeomID b)
{
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, near);
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

/* Shapes of the link with more of them come first, in the engine's order. */
static int compare(const void *left, const void *right)
{
    const dGeomID *p = left, *q = right;
    const Tag *a = dGeomGetData(p[0]), *b = dGeomGetData(p[1]);
    const Tag *c = dGeomGetData(q[0]), *d = dGeomGetData(q[1]);
    int alone = a->body == b->body; /* pairs of one body are checked link by link */
    int links[][2] = {{a->body, c->body},
                      {b->body, d->body},
                      {a->standing, c->standing},
                      {alone ? a->link : 0, alone ? c->link : 0},
                      {b->standing, d->standing},
                      {a->link, c->link},
                      {b->link, d->link}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (links[i][0] != links[i][1])
            return (links[i][0] < links[i][1]) == scene.ordered ? -1 : 1;
    int by_second = shapes_of(b->of_link) > shapes_of(a->of_link);
    int shapes[][2] = {{by_second ? b->order : a->order, by_second ? d->order : c->order},
                       {by_second ? a->order : b->order, by_second ? c->order : d->order}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i][0] != shapes[i][1])
            return shapes[i][0] < shapes[i][1] ? -1 : 1;
    return 0;
}

static void collide(dNearCallback *callback)
{
    dSpaceCollide(scene.all, NULL, callback);
    for (int i = 0; scene.self_collision && i < scene.bodies; i++)
        if (scene.body[i].space != scene.all)
            dSpaceCollide(scene.body[i].space, NULL, callback);
}

/* List the pairs of shapes, those of the same two links side by side. */
static void pairs_list(void)
{
    pairs.count = 0;
    for (int i = 0; i < scene.bodies; i++)
        shapes_move(scene.body[i].engine);
    collide(near);
    qsort(pairs.item, (size_t)pairs.count, sizeof *pairs.item, compare);
}

/* Find the contact points of the two links of a pair. Returns the first pair of other links. */
static int links_find(int first)
{
    const Tag *x = dGeomGetData(pairs.item[first][0]), *y = dGeomGetData(pairs.item[first][1]);
    int i = first;
    points_clear();
    for (; i < pairs.count; i++) {
        const Tag *a = dGeomGetData(pairs.item[i][0]), *b = dGeomGetData(pairs.item[i][1]);
        if (a->of_link != x->of_link || b->of_link != y->of_link)
            break;
        points_add(a->shape, a->of_link, b->shape, b->of_link);
    }
    return i;
}

void contacts_create(void)
{
    if (scene.original) {
        collide(near_of_original);
        return;
    }
    pairs_list();
    for (int i = 0; i < pairs.count;) {
        i = links_find(i);
        int count = points_reduce(scene.max_contacts);
        for (int k = 0; k < count; k++) {
            dGeomID geoms[2];
            const dContactGeom *point = point_at(k, geoms);
            touch(geoms[0], geoms[1], point);
        }
    }
}

/* Disable collisions of links of one body that overlap, or touch, in the initial posture. */
void overlaps_forbid(void)
{
    if (scene.original)
        return;
    pairs_list();
    for (int i = 0; i < pairs.count;) {
        const Tag *x = dGeomGetData(pairs.item[i][0]), *y = dGeomGetData(pairs.item[i][1]);
        i = links_find(i);
        if (x->body != y->body || *allowed(x, y) < UNLESS_OVERLAPPING)
            continue;
        double most = *allowed(x, y) == UNLESS_TOUCHING ? -1.0 : OVERLAP;
        for (int k = 0; k < points_found(); k++) {
            dGeomID geoms[2];
            if (point_at(k, geoms)->depth > most)
                *allowed(x, y) = *allowed(y, x) = NEVER;
        }
    }
}
