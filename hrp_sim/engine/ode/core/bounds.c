/* Bounds of shapes and links, and lower bounds of their distances. */
#include "bounds.h"
#include "state.h"

#include <math.h>
#include <string.h>

#define PARALLEL_EDGES 1e-6 /* squared sine below which edges give no separating axis */
#define MAX_TRAVEL 1e6      /* beyond which rounding matters beside BOUND_MARGIN, in [m] */

void hrp_box_clear(dReal box[6])
{
    for (int axis = 0; axis < 3; axis++) {
        box[2 * axis] = dInfinity;
        box[2 * axis + 1] = -dInfinity;
    }
}

void hrp_box_extend(dReal box[6], const dReal p[3])
{
    for (int axis = 0; axis < 3; axis++) {
        box[2 * axis] = min_real(box[2 * axis], p[axis]);
        box[2 * axis + 1] = max_real(box[2 * axis + 1], p[axis]);
    }
}

void hrp_box_unite(dReal box[6], const dReal other[6])
{
    for (int axis = 0; axis < 3; axis++) {
        box[2 * axis] = min_real(box[2 * axis], other[2 * axis]);
        box[2 * axis + 1] = max_real(box[2 * axis + 1], other[2 * axis + 1]);
    }
}

static dReal reach_along(const Bound *bound, int axis)
{
    const dReal *row = bound->R + 3 * axis;
    return fabs(row[0]) * bound->half[0] + fabs(row[1]) * bound->half[1] +
           fabs(row[2]) * bound->half[2] + bound->radius;
}

/* Set the box of a bound along the axes of its frame. Not in a loop, which GCC 12 compiles as if it
 * did not change the box. */
static void bound_box(Bound *bound)
{
    dReal x = reach_along(bound, 0), y = reach_along(bound, 1), z = reach_along(bound, 2);
    bound->box[0] = bound->p[0] - x;
    bound->box[1] = bound->p[0] + x;
    bound->box[2] = bound->p[1] - y;
    bound->box[3] = bound->p[1] + y;
    bound->box[4] = bound->p[2] - z;
    bound->box[5] = bound->p[2] + z;
}

/* Move a bound from the frame of a group to W. */
static void bound_place(Bound *now, const Bound *local, dBodyID group)
{
    if (!group) {
        *now = *local;
        return;
    }
    const dReal *R = dBodyGetRotation(group), *p = dBodyGetPosition(group);
    rotate4(now->p, R, local->p);
    for (int i = 0; i < 3; i++) {
        now->p[i] += p[i];
        for (int k = 0; k < 3; k++)
            now->R[3 * i + k] = R[4 * i] * local->R[k] + R[4 * i + 1] * local->R[3 + k] +
                                R[4 * i + 2] * local->R[6 + k];
    }
    memcpy(now->half, local->half, sizeof now->half);
    now->radius = local->radius;
    bound_box(now);
}

/* Set the bound of a shape in the frame of its group. */
static void shape_bound(Geom *shape)
{
    Bound *bound = &shape->local;
    const Mesh *mesh = dGeomGetData(shape->geom);
    const dReal none[3] = {0.0, 0.0, 0.0};
    dReal *half = bound->half, length;
    dVector3 lengths;
    int attached = dGeomGetBody(shape->geom) != NULL;
    const dReal *R = attached ? dGeomGetOffsetRotation(shape->geom) : dGeomGetRotation(shape->geom);
    const dReal *p = attached ? dGeomGetOffsetPosition(shape->geom) : dGeomGetPosition(shape->geom);
    *bound = (Bound){.radius = 0.0};
    switch (dGeomGetClass(shape->geom)) {
    case dBoxClass:
        dGeomBoxGetLengths(shape->geom, lengths);
        for (int k = 0; k < 3; k++)
            half[k] = 0.5 * lengths[k];
        break;
    case dSphereClass:
        bound->radius = dGeomSphereGetRadius(shape->geom);
        break;
    case dCapsuleClass:
        dGeomCapsuleGetParams(shape->geom, &bound->radius, &length);
        half[2] = 0.5 * length;
        break;
    case dCylinderClass:
        dGeomCylinderGetParams(shape->geom, &half[0], &length);
        half[1] = half[0];
        half[2] = 0.5 * length;
        break;
    default:
        memcpy(half, mesh->half, sizeof bound->half);
    }
    rotate4(bound->p, R, mesh ? mesh->middle : none);
    for (int i = 0; i < 3; i++) {
        bound->p[i] += p[i];
        for (int k = 0; k < 3; k++)
            bound->R[3 * i + k] = R[4 * i + k];
    }
    bound_box(bound);
}

/* Set the bound of all shapes of a link in the frame of its group: a box along the first shape. */
static void link_bound(LinkShapes *link)
{
    Bound *bound = &link->local;
    dReal box[6];
    *bound = link->shapes[0].local;
    if (link->count == 1)
        return;
    hrp_box_clear(box);
    for (int s = 0; s < link->count; s++) {
        const Bound *shape = &link->shapes[s].local;
        for (int k = 0; k < 3; k++) {
            dReal middle = 0.0, reach = shape->radius;
            for (int j = 0; j < 3; j++) {
                dReal turned = 0.0;
                for (int i = 0; i < 3; i++)
                    turned += bound->R[3 * i + k] * shape->R[3 * i + j];
                reach += fabs(turned) * shape->half[j];
                middle += bound->R[3 * j + k] * shape->p[j];
            }
            box[2 * k] = min_real(box[2 * k], middle - reach);
            box[2 * k + 1] = max_real(box[2 * k + 1], middle + reach);
        }
    }
    bound->radius = 0.0;
    for (int i = 0; i < 3; i++) {
        bound->half[i] = 0.5 * (box[2 * i + 1] - box[2 * i]);
        bound->p[i] = 0.0;
        for (int k = 0; k < 3; k++)
            bound->p[i] += bound->R[3 * i + k] * 0.5 * (box[2 * k] + box[2 * k + 1]);
    }
    bound_box(bound);
}

static void set_bounds_create(GeomSet *set)
{
    for (int i = 0; i < set->colliding; i++)
        shape_bound(&set->items[i]);
    for (int i = 0; i < set->link_count; i++) {
        LinkShapes *link = &set->links[i];
        link_bound(link);
        link->shapes_placed = 0;
        link->reach = 0.0;
        for (int k = 0; k < 6; k++)
            link->reach = max_real(link->reach, fabs(link->local.box[k]));
    }
}

void hrp_bounds_create(Body *body)
{
    set_bounds_create(&body->moving);
    set_bounds_create(&body->fixed);
    body->bounds_changed = 1;
}

/* Return how far a point of a link may be from where its bound was placed, in [m]. */
static dReal strayed(const LinkShapes *link)
{
    const dReal *p = link->group_p, *R = link->group_R;
    Lanes turned = {0.0, 0.0};
    for (int i = 0; i < 12; i += 2)
        turned += (Lanes){fabs(R[i] - link->R[i]), fabs(R[i + 1] - link->R[i + 1])};
    return fabs(p[0] - link->p[0]) + fabs(p[1] - link->p[1]) + fabs(p[2] - link->p[2]) +
           (turned[0] + turned[1]) * link->reach;
}

/* Place the bound of a link that has strayed, with a box that is wider by a slack. */
static void link_place(LinkShapes *link, dReal slack, dReal moved)
{
    bound_place(&link->now, &link->local, link->group);
    for (int k = 0; k < 6; k++)
        link->now.box[k] += k % 2 ? slack : -slack;
    if (link->group) {
        memcpy(link->p, link->group_p, sizeof link->p);
        memcpy(link->R, link->group_R, sizeof link->R);
    }
    link->slack = slack;
    link->travel += moved;
    link->unseen += moved;
}

void hrp_link_place(LinkShapes *link)
{
    const dReal moved = link->group ? strayed(link) : 0.0;
    if (moved > 0.0)
        link_place(link, link->slack, moved);
}

/* Forget how far apart the links of a body were. */
static void distances_forget(Body *body)
{
    GeomSet *sets[] = {&body->moving, &body->fixed};
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sets[s]->link_count; i++)
            sets[s]->links[i].travel = 0.0;
    for (size_t k = 0; k < body->pair_count; k++)
        body->pairs[k].limit = 0.0;
    for (size_t k = 0; k < body->limit_count; k++)
        body->limits[k] = 0.0;
    body->room = 0.0;
}

/* Place the links of a set that move and have strayed by more than a slack, or all. Returns the
 * most that one has moved or, once rounding may matter beside what they have moved in all,
 * infinity. */
static dReal set_place(GeomSet *set, dReal slack, int all)
{
    dReal most = 0.0;
    int placed = all;
    for (int i = 0; i < set->link_count; i++) {
        LinkShapes *link = &set->links[i];
        const dReal moved = link->group ? strayed(link) : 0.0;
        if (all || link->slack != slack || !(moved <= slack)) {
            link_place(link, slack, moved);
            placed = 1;
        }
        most = max_real(most, link->unseen);
        if (link->group)
            link->is_marked = link->shapes_placed = 0;
        link->unseen = 0.0;
        if (!(link->travel < MAX_TRAVEL))
            most = dInfinity;
    }
    if (!placed)
        return most;
    hrp_box_clear(set->box);
    for (int i = 0; i < set->link_count; i++)
        hrp_box_unite(set->box, set->links[i].now.box);
    return most;
}

void hrp_bounds_place(Body *body, dReal slack)
{
    dReal most = max_real(set_place(&body->moving, slack, body->bounds_changed),
                          set_place(&body->fixed, slack, body->bounds_changed));
    body->room -= 2.0 * most;
    if (body->bounds_changed || !(most < MAX_TRAVEL))
        distances_forget(body);
    body->bounds_changed = 0;
}

void hrp_shapes_place(LinkShapes *link)
{
    if (link->group && !link->is_marked)
        hrp_group_mark_moved(link->group);
    link->is_marked = 1;
    if (link->shapes_placed)
        return;
    for (int s = 0; s < link->count; s++)
        bound_place(&link->shapes[s].now, &link->shapes[s].local, link->group);
    link->shapes_placed = 1;
}

void hrp_pair_travel(LinkPair *pair)
{
    const Bound *a = &pair->links[0]->now, *b = &pair->links[1]->now;
    dReal moved = 0.0, away[3];
    for (int i = 0; i < 3; i++)
        away[i] = b->p[i] - a->p[i];
    for (int i = 0; i < 3; i++) {
        const dReal p = a->R[i] * away[0] + a->R[3 + i] * away[1] + a->R[6 + i] * away[2];
        moved += fabs(p - pair->p[i]);
        pair->p[i] = p;
        for (int k = 0; k < 3; k++) {
            const dReal R = a->R[i] * b->R[k] + a->R[3 + i] * b->R[3 + k] + a->R[6 + i] * b->R[6 + k];
            moved += fabs(R - pair->R[3 * i + k]) * b->half[k];
            pair->R[3 * i + k] = R;
        }
    }
    pair->travel += moved;
    if (pair->travel < MAX_TRAVEL)
        return;
    pair->travel = 0.0;
    memset(pair->limits, 0,
           sizeof(dReal) * (size_t)pair->links[0]->count * (size_t)pair->links[1]->count);
}

dReal hrp_bounds_distance(const Bound *a, const Bound *b)
{
    dReal C[3][3], D[3][3], t[3], away[3], best = -dInfinity, round = a->radius + b->radius;
    for (int i = 0; i < 3; i++)
        away[i] = b->p[i] - a->p[i];
    for (int i = 0; i < 3; i++) {
        t[i] = a->R[i] * away[0] + a->R[3 + i] * away[1] + a->R[6 + i] * away[2];
        for (int j = 0; j < 3; j++) { /* C: cosines between the axes of the boxes */
            C[i][j] = a->R[i] * b->R[j] + a->R[3 + i] * b->R[3 + j] + a->R[6 + i] * b->R[6 + j];
            D[i][j] = fabs(C[i][j]);
        }
    }
    for (int i = 0; i < 3; i++) {
        dReal s = C[0][i] * t[0] + C[1][i] * t[1] + C[2][i] * t[2];
        best = max_real(best, fabs(t[i]) - a->half[i] - dot3(D[i], b->half));
        best = max_real(best, fabs(s) - b->half[i] - D[0][i] * a->half[0] - D[1][i] * a->half[1] -
                                  D[2][i] * a->half[2]);
    }
    if (best > round)
        return best - round;
    for (int i = 0; i < 3; i++) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; j++) {
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            dReal length = 1.0 - C[i][j] * C[i][j];
            dReal gap = fabs(t[i2] * C[i1][j] - t[i1] * C[i2][j]) - a->half[i1] * D[i2][j] -
                        a->half[i2] * D[i1][j] - b->half[j1] * D[i][j2] - b->half[j2] * D[i][j1];
            if (gap > 0.0 && length > PARALLEL_EDGES)
                best = max_real(best, gap / sqrt(length));
        }
    }
    return best - round;
}
