/* The contact points of two links, and the few of them that are simulated.
 *
 * For points with one normal, the normal velocity and the moment of a unit force depend on the
 * position in the plane across the normal alone. So the corners of the points' convex hull in this
 * plane allow the same motions and can exert the same wrenches as all points: the others only cost
 * time. Of more corners than may be kept, those are dropped one by one that span the least area
 * with their neighbours. A point that is clearly deeper than the corners is kept as well. Points
 * with different normals, of a floor and a wall, are reduced separately.
 */
#include "contact_set.h"

#include <stdlib.h>
#include <string.h>

#define SIMILAR 0.95        /* cosine of the angle within which normals are similar, 18 degrees */
#define SAME_PLACE 1e-6     /* points closer than this are one, in [m] */
#define SAME_SHARE 1e-4     /* likewise, relative to the extent of the points */
#define CLEARLY_DEEPER 1e-5 /* [m] */
#define MAX_ALTERNATING 16  /* points */
#define CROWD_KEPT 8        /* of each direction, where there are too many points */

/* Compare by u, then v; the deepest of equal points first. */
static int compare_points(const void *left, const void *right)
{
    const ContactPoint *a = *(ContactPoint *const *)left, *b = *(ContactPoint *const *)right;
    if (a->u != b->u)
        return a->u < b->u ? -1 : 1;
    if (a->v != b->v)
        return a->v < b->v ? -1 : 1;
    if (a->at.depth != b->at.depth)
        return a->at.depth > b->at.depth ? -1 : 1;
    return a < b ? -1 : 1;
}

/* Twice the area of a triangle, positive if it is counter-clockwise. */
static dReal area(const ContactPoint *a, const ContactPoint *b, const ContactPoint *c)
{
    return (b->u - a->u) * (c->v - a->v) - (b->v - a->v) * (c->u - a->u);
}

static dReal distance2(const ContactPoint *a, const ContactPoint *b)
{
    return (a->u - b->u) * (a->u - b->u) + (a->v - b->v) * (a->v - b->v);
}

/* Move points well inside the quadrilateral of the outermost points along both diagonals to the
 * end: hulls of few points are found faster. Returns how many are left. */
static int inner_points_move(ContactPoint **points, int count)
{
    ContactPoint *extreme[4] = {points[0], points[0], points[0], points[0]};
    for (int i = 1; i < count; i++) {
        dReal sum = points[i]->u + points[i]->v, difference = points[i]->u - points[i]->v;
        if (sum < extreme[0]->u + extreme[0]->v)
            extreme[0] = points[i];
        if (difference > extreme[1]->u - extreme[1]->v)
            extreme[1] = points[i];
        if (sum > extreme[2]->u + extreme[2]->v)
            extreme[2] = points[i];
        if (difference < extreme[3]->u - extreme[3]->v)
            extreme[3] = points[i];
    }
    int left = 0;
    for (int i = 0; i < count; i++) {
        int is_inside = 1;
        for (int k = 0; k < 4 && is_inside; k++)
            is_inside = area(extreme[k], extreme[(k + 1) % 4], points[i]) > 0.0;
        if (is_inside)
            continue;
        ContactPoint *outer = points[i];
        points[i] = points[left];
        points[left++] = outer;
    }
    return left;
}

/* Find the corners of the convex hull, counter-clockwise. Returns their number. */
static int hull_find(ContactPoint **points, int count, ContactPoint **hull)
{
    int corners = 0;
    count = inner_points_move(points, count);
    qsort(points, (size_t)count, sizeof *points, compare_points);
    for (int i = 0; i < count; i++) {
        while (corners > 1 && area(hull[corners - 2], hull[corners - 1], points[i]) <= 0.0)
            corners--;
        hull[corners++] = points[i];
    }
    for (int i = count - 2, lower = corners; i >= 0; i--) {
        while (corners > lower && area(hull[corners - 2], hull[corners - 1], points[i]) <= 0.0)
            corners--;
        hull[corners++] = points[i];
    }
    return corners > 1 ? corners - 1 : corners;
}

/* How much a polygon loses without a corner: twice an area. A triangle loses the less, the longer
 * the edge is that is left. */
static dReal loss(ContactPoint *const *hull, int corners, int i)
{
    const ContactPoint *before = hull[(i + corners - 1) % corners],
                       *after = hull[(i + 1) % corners];
    return corners > 3 ? area(before, hull[i], after) : -distance2(before, after);
}

/* Drop corners until at most max are left, the one with the least loss first. */
static int corners_drop(ContactPoint **hull, int corners, int max)
{
    static dReal losses[2 * CONTACT_SET_POINTS];
    for (int i = 0; i < corners && corners > max; i++)
        losses[i] = loss(hull, corners, i);
    while (corners > max) {
        int least = 0;
        for (int i = 1; i < corners; i++)
            if (losses[i] < losses[least])
                least = i;
        corners--;
        size_t after = (size_t)(corners - least);
        memmove(hull + least, hull + least + 1, sizeof *hull * after);
        memmove(losses + least, losses + least + 1, sizeof *losses * after);
        if (corners == 3) /* losses are lengths from now on */
            for (int i = 0; i < corners; i++)
                losses[i] = loss(hull, corners, i);
        else
            for (int i = least + corners - 1; i <= least + corners; i++)
                losses[i % corners] = loss(hull, corners, i % corners);
    }
    return corners;
}

/* Return the deepest point at the place of another. */
static ContactPoint *deepest_near(ContactPoint *const *points, int count, ContactPoint *place,
                                  dReal near2)
{
    ContactPoint *deepest = place;
    for (int i = 0; i < count; i++)
        if (points[i]->at.depth > deepest->at.depth && distance2(points[i], place) <= near2)
            deepest = points[i];
    return deepest;
}

/* Keep one of the points at each place, the deepest. */
static void places_keep(ContactPoint *const *points, int count, dReal near2)
{
    for (int i = 0; i < count; i++) {
        int is_kept = 1;
        for (int j = 0; j < i && is_kept; j++)
            if (points[j]->is_kept && distance2(points[i], points[j]) <= near2) {
                points[j]->is_kept = points[j]->at.depth >= points[i]->at.depth;
                is_kept = !points[j]->is_kept;
            }
        points[i]->is_kept = is_kept;
    }
}

/* Keep at most max points with similar normals, the corners of their hull. */
static void corners_keep(ContactPoint **points, int count, int max, dReal near2)
{
    static ContactPoint *hull[2 * CONTACT_SET_POINTS];
    ContactPoint *deepest = deepest_near(points, count, points[0], dInfinity);
    dReal depth = -dInfinity;
    if (max == 1) {
        deepest->is_kept = 1;
        return;
    }
    int corners = corners_drop(hull, hull_find(points, count, hull), max);
    for (int i = 0; i < corners; i++) {
        hull[i] = deepest_near(points, count, hull[i], near2);
        depth = max_real(depth, hull[i]->at.depth);
    }
    if (deepest->at.depth > depth + CLEARLY_DEEPER) {
        corners = corners_drop(hull, corners, max - 1);
        hull[corners++] = deepest;
    }
    for (int i = 0; i < corners; i++)
        hull[i]->is_kept = 1;
}

/* Keep at most max points of a cluster. */
static void cluster_reduce(ContactPoint **points, int count, int max)
{
    dReal box[4] = {dInfinity, -dInfinity, dInfinity, -dInfinity};
    for (int i = 0; i < count; i++) {
        box[0] = min_real(box[0], points[i]->u);
        box[1] = max_real(box[1], points[i]->u);
        box[2] = min_real(box[2], points[i]->v);
        box[3] = max_real(box[3], points[i]->v);
    }
    dReal near = max_real(SAME_PLACE, SAME_SHARE * max_real(box[1] - box[0], box[3] - box[2]));
    if (count <= max)
        places_keep(points, count, near * near);
    else
        corners_keep(points, count, max, near * near);
}

/* Return the deepest point that is in no cluster yet, the first if there are several. */
static ContactPoint *next_seed(ContactSet *contacts)
{
    ContactPoint *seed = NULL;
    for (int i = 0; i < contacts->count; i++) {
        ContactPoint *point = &contacts->points[i];
        if (point->cluster == NO_CLUSTER && (!seed || point->at.depth > seed->at.depth))
            seed = point;
    }
    return seed;
}

/* Collect the points without a cluster whose normal is similar to that of a seed. Returns their
 * number. */
static int cluster_collect(ContactSet *contacts, const ContactPoint *seed, int cluster,
                           ContactPoint **members)
{
    dVector3 across, along;
    int count = 0;
    dPlaneSpace(seed->at.normal, across, along);
    for (int i = 0; i < contacts->count; i++) {
        ContactPoint *point = &contacts->points[i];
        if (point->cluster != NO_CLUSTER ||
            (point != seed && !(dot3(point->at.normal, seed->at.normal) > SIMILAR)))
            continue;
        point->cluster = cluster;
        point->u = dot3(point->at.pos, across);
        point->v = dot3(point->at.pos, along);
        members[count++] = point;
    }
    return count;
}

/* Move the point farthest from all before it to each place. Iterative solvers converge faster if
 * neighbouring points do not follow each other. */
static void points_alternate(ContactSet *contacts)
{
    ContactPoint *points = contacts->points;
    for (int place = 1; place + 1 < contacts->count && place < MAX_ALTERNATING; place++) {
        dReal farthest = -1.0;
        int best = place;
        for (int i = place; i < contacts->count; i++) {
            dReal nearest = dInfinity;
            for (int j = 0; j < place; j++) {
                dReal d[3];
                for (int k = 0; k < 3; k++)
                    d[k] = points[i].at.pos[k] - points[j].at.pos[k];
                nearest = min_real(nearest, dot3(d, d));
            }
            if (nearest > farthest) {
                farthest = nearest;
                best = i;
            }
        }
        ContactPoint swapped = points[place];
        points[place] = points[best];
        points[best] = swapped;
    }
}

void hrp_contact_set_reduce(ContactSet *contacts, int max)
{
    static ContactPoint *members[CONTACT_SET_POINTS];
    int kept = 0, clusters = 0;
    for (int i = 0; i < contacts->count; i++)
        contacts->points[i].cluster = contacts->count < 2 ? 0 : NO_CLUSTER;
    if (contacts->count < 2)
        return;
    for (int i = 0; i < contacts->count; i++)
        contacts->points[i].is_kept = 0;
    for (ContactPoint *seed = next_seed(contacts); seed; seed = next_seed(contacts))
        cluster_reduce(members, cluster_collect(contacts, seed, clusters++, members), max);
    for (int i = 0; i < contacts->count; i++)
        if (contacts->points[i].is_kept)
            contacts->points[kept++] = contacts->points[i];
    contacts->count = kept;
    points_alternate(contacts);
}

ContactPoint *hrp_contact_set_reserve(ContactSet *contacts, int count)
{
    if (contacts->count + count > CONTACT_SET_POINTS)
        hrp_contact_set_reduce(contacts, CROWD_KEPT);
    return &contacts->points[contacts->count];
}

ContactPoint *hrp_contact_set_append(ContactSet *contacts, const Geom *a, const Geom *b)
{
    ContactPoint *point = hrp_contact_set_reserve(contacts, 1);
    *point = (ContactPoint){.a = a, .b = b};
    contacts->count++;
    return point;
}
