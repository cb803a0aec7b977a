/* Lower bounds of the distance between the triangles of a mesh and another shape.
 *
 * Two trees of boxes are descended where they are closer than the least distance found so far. Of
 * two triangles, or a triangle and a box with rounded edges, the distance is not less than the gap
 * between their projections onto any axis; if they are apart, there is one among the normals of
 * their faces and the products of their edges (S. Gottschalk et al., OBBTree, SIGGRAPH 1996).
 */
#include "distance.h"
#include "bounds.h"
#include "mesh.h"

#include <math.h>
#include <string.h>

#define MAX_WAITING 2048 /* pairs of parts; beyond, shapes count as touching */
#define MAX_PAIRS 20000  /* likewise, to look at: a few milliseconds */
#define CORNERS 8

/* Points whose hull is one shape, and axes that may separate it from another one. A cylinder is that
 * of its axis, and a disc across it. */
typedef struct {
    int points, normals, edges;
    dReal point[CORNERS][3], normal[4][3], edge[3][3];
    dReal radius; /* of its rounded edges */
    dReal middle[3], line[3], half; /* of a shape around a line, of unit length */
    dReal disc;   /* radius of a cylinder, or 0 */
    int is_round; /* whether directions from its line may separate it */
} Hull;

static void difference(dReal out[3], const dReal a[3], const dReal b[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = a[i] - b[i];
}

/* Set a triangle; its normals are that of its plane, and those of its edges in it. */
static void triangle_set(Hull *hull, const dReal corners[3][3])
{
    hull->points = hull->edges = 3;
    hull->normals = 4;
    hull->radius = hull->disc = 0.0;
    hull->is_round = 0;
    memcpy(hull->point, corners, 9 * sizeof(dReal));
    for (int k = 0; k < 3; k++)
        difference(hull->edge[k], corners[(k + 1) % 3], corners[k]);
    cross3(hull->normal[0], hull->edge[0], hull->edge[1]);
    for (int k = 0; k < 3; k++)
        cross3(hull->normal[1 + k], hull->normal[0], hull->edge[k]);
}

/* Set a shape by its bound, given in the frame of the other one. */
static void bound_set(Hull *hull, const Bound *bound, int is_cylinder)
{
    hull->normals = hull->edges = 3;
    hull->radius = bound->radius;
    hull->is_round = is_cylinder || bound->radius > 0.0;
    hull->disc = is_cylinder ? bound->half[0] : 0.0;
    hull->half = is_cylinder ? dInfinity : bound->half[2];
    hull->points = hull->is_round ? 2 : CORNERS;
    for (int i = 0; i < 3; i++) {
        hull->middle[i] = bound->p[i];
        hull->line[i] = bound->R[3 * i + 2];
        for (int k = 0; k < 3; k++)
            hull->normal[k][i] = hull->edge[k][i] = bound->R[3 * i + k];
        for (int c = 0; c < hull->points; c++) {
            hull->point[c][i] = bound->p[i];
            for (int k = hull->is_round ? 2 : 0; k < 3; k++)
                hull->point[c][i] += (c >> (2 - k) & 1 ? bound->half[k] : -bound->half[k]) *
                                     bound->R[3 * i + k];
        }
    }
}

static void project(const Hull *hull, const dReal axis[3], dReal *low, dReal *high)
{
    *low = *high = dot3(axis, hull->point[0]);
    for (int i = 1; i < hull->points; i++) {
        const dReal at = dot3(axis, hull->point[i]);
        *low = min_real(*low, at);
        *high = max_real(*high, at);
    }
    if (hull->disc == 0.0)
        return;
    const dReal along = dot3(axis, hull->line);
    const dReal reach = hull->disc * sqrt(max_real(dot3(axis, axis) - along * along, 0.0));
    *low -= reach;
    *high += reach;
}

/* Raise a gap to that along an axis. Returns whether it reaches a number. */
static int gap_raise(const Hull *a, const Hull *b, const dReal axis[3], dReal enough, dReal *gap)
{
    dReal low_a, high_a, low_b, high_b;
    const dReal square = dot3(axis, axis);
    if (!(square > 0.0))
        return 0;
    project(a, axis, &low_a, &high_a);
    project(b, axis, &low_b, &high_b);
    const dReal apart = max_real(low_a - high_b, low_b - high_a);
    if (apart > 0.0)
        *gap = max_real(*gap, apart / sqrt(square) - a->radius - b->radius);
    return *gap >= enough;
}

/* Raise a gap to those along directions from the line of a round shape to points of another. */
static int gap_raise_around(const Hull *a, const Hull *round, dReal enough, dReal *gap)
{
    for (int k = 0; k < a->points; k++) {
        dReal axis[3];
        difference(axis, a->point[k], round->middle);
        const dReal along = clamp(dot3(axis, round->line), -round->half, round->half);
        for (int i = 0; i < 3; i++)
            axis[i] -= along * round->line[i];
        if (gap_raise(a, round, axis, enough, gap))
            return 1;
    }
    return 0;
}

/* Return the widest gap of a triangle and another hull, or one that is enough; 0 if there is
 * none. */
static dReal hulls_gap(const Hull *a, const Hull *b, dReal enough)
{
    dReal gap = 0.0, axis[3];
    if (b->is_round && gap_raise_around(a, b, enough, &gap))
        return gap;
    for (int k = 0; k < a->normals; k++)
        if (gap_raise(a, b, a->normal[k], enough, &gap))
            return gap;
    for (int k = 0; k < b->normals; k++)
        if (gap_raise(a, b, b->normal[k], enough, &gap))
            return gap;
    for (int i = 0; i < a->edges; i++)
        for (int k = 0; k < b->edges; k++) {
            cross3(axis, a->edge[i], b->edge[k]);
            if (gap_raise(a, b, axis, enough, &gap))
                return gap;
        }
    return gap;
}

/* The pose of a shape in the frame of a mesh. */
typedef struct {
    dReal R[9], absolute[9], p[3]; /* absolute: of each number of R */
} Relative;

static void origin_of(const Geom *shape, dReal origin[3])
{
    const Mesh *mesh = dGeomGetData(shape->geom);
    rotate3(origin, shape->now.R, mesh->middle);
    difference(origin, shape->now.p, origin);
}

/* Set the pose of a bound, or of its shape's origin, in the frame of a mesh. */
static void relative_set(Relative *pose, const Geom *mesh, const dReal R[9], const dReal p[3])
{
    dReal away[3];
    origin_of(mesh, away);
    difference(away, p, away);
    for (int i = 0; i < 3; i++) {
        pose->p[i] = 0.0;
        for (int j = 0; j < 3; j++) {
            dReal sum = 0.0;
            for (int k = 0; k < 3; k++)
                sum += mesh->now.R[3 * k + i] * R[3 * k + j];
            pose->R[3 * i + j] = sum;
            pose->absolute[3 * i + j] = fabs(sum);
            pose->p[i] += mesh->now.R[3 * j + i] * away[j];
        }
    }
}

/* Set the box in the frame of a mesh that contains a box of another shape. */
static void box_turn(dReal turned[6], const Relative *pose, const dReal middle[3],
                     const dReal half[3], dReal radius)
{
    dReal m[3], h[3];
    rotate3(m, pose->R, middle);
    rotate3(h, pose->absolute, half);
    for (int k = 0; k < 3; k++) {
        turned[2 * k] = m[k] + pose->p[k] - h[k] - radius;
        turned[2 * k + 1] = m[k] + pose->p[k] + h[k] + radius;
    }
}

/* The part of a tree that a node lists at a place: a node, or a few triangles. */
typedef struct {
    int first, count;
} TreePart;

/* Boxes of the parts of a node, or of a bound, in the frame of the first mesh. */
typedef struct {
    TreePart part[TREE_WIDTH];
    dReal box[TREE_WIDTH][6];
    int count;
} Parts;

/* A descent into a mesh and another shape, which is a mesh or a hull. */
typedef struct {
    const Mesh *a, *b; /* b: NULL if it is a hull */
    Relative pose;     /* of b in a */
    Hull hull;         /* in the frame of a */
    dReal least;       /* distance found */
    struct {
        TreePart a, b;
        dReal box[6]; /* of b */
    } waiting[MAX_WAITING];
    int size;
} Descent;

static void corners_get(const Mesh *mesh, int triangle, const Relative *pose, dReal corners[3][3])
{
    for (int k = 0; k < 3; k++) {
        const dReal *vertex = mesh->vertices + 3 * mesh->tree_indices[3 * triangle + k];
        if (!pose) {
            memcpy(corners[k], vertex, 3 * sizeof(dReal));
            continue;
        }
        rotate3(corners[k], pose->R, vertex);
        for (int i = 0; i < 3; i++)
            corners[k][i] += pose->p[i];
    }
}

/* Lower the least distance to that of triangles of both shapes. */
static void triangles_compare(Descent *descent, TreePart a, TreePart b)
{
    const int others = descent->b ? b.count : 1;
    dReal corners[3][3];
    Hull first, second;
    for (int j = 0; j < others && descent->least > 0.0; j++) {
        if (descent->b) {
            corners_get(descent->b, b.first + j, &descent->pose, corners);
            triangle_set(&second, corners);
        }
        for (int i = 0; i < a.count && descent->least > 0.0; i++) {
            corners_get(descent->a, a.first + i, NULL, corners);
            triangle_set(&first, corners);
            descent->least = min_real(descent->least,
                                      hulls_gap(&first, descent->b ? &second : &descent->hull,
                                                descent->least));
        }
    }
}

static dReal gap_of_node(const TreeNode *node, int k, const dReal box[6])
{
    dReal gap = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        gap = max_real(gap, node->box[2 * axis][k] - box[2 * axis + 1]);
        gap = max_real(gap, box[2 * axis] - node->box[2 * axis + 1][k]);
    }
    return gap;
}

/* List the parts below a part of the other shape. */
static void parts_list(const Descent *descent, TreePart part, const dReal box[6], Parts *parts)
{
    parts->count = 1;
    if (!descent->b || part.count) {
        parts->part[0] = part;
        memcpy(parts->box[0], box, sizeof parts->box[0]);
        return;
    }
    const TreeNode *node = &descent->b->tree.nodes[part.first];
    parts->count = 0;
    for (int k = 0; k < TREE_WIDTH; k++) {
        dReal middle[3], half[3];
        if (!(node->box[0][k] <= node->box[1][k]))
            continue;
        for (int i = 0; i < 3; i++) {
            middle[i] = 0.5 * (node->box[2 * i][k] + node->box[2 * i + 1][k]);
            half[i] = 0.5 * (node->box[2 * i + 1][k] - node->box[2 * i][k]);
        }
        box_turn(parts->box[parts->count], &descent->pose, middle, half, 0.0);
        parts->part[parts->count++] = (TreePart){node->first[k], node->count[k]};
    }
}

/* Let a pair of parts wait. */
static void pair_append(Descent *descent, TreePart a, TreePart b, const dReal box[6])
{
    if (descent->size == MAX_WAITING) {
        descent->least = 0.0;
        return;
    }
    descent->waiting[descent->size].a = a;
    descent->waiting[descent->size].b = b;
    memcpy(descent->waiting[descent->size++].box, box, 6 * sizeof(dReal));
}

/* Descend into a pair of parts. */
static void pair_descend(Descent *descent, TreePart a, TreePart b, const dReal box[6])
{
    const int b_ends = !descent->b || b.count;
    Parts parts;
    if (a.count && b_ends) {
        triangles_compare(descent, a, b);
        return;
    }
    parts_list(descent, b, box, &parts);
    for (int j = 0; j < parts.count; j++) {
        if (a.count) {
            pair_append(descent, a, parts.part[j], parts.box[j]);
            continue;
        }
        const TreeNode *node = &descent->a->tree.nodes[a.first];
        for (int k = 0; k < TREE_WIDTH; k++)
            if (gap_of_node(node, k, parts.box[j]) < descent->least)
                pair_append(descent, (TreePart){node->first[k], node->count[k]}, parts.part[j],
                            parts.box[j]);
    }
}

static int tree_is_ready(const Geom *shape)
{
    Mesh *mesh = dGeomGetData(shape->geom);
    return mesh->tree.count || hrp_mesh_tree_create(mesh);
}

dReal hrp_surfaces_distance(const Geom *a, const Geom *b, dReal most)
{
    static Descent descent; /* one thread at a time is in ODE */
    if (dGeomGetClass(a->geom) != dTriMeshClass) {
        const Geom *swapped = a;
        a = b;
        b = swapped;
    }
    const int is_mesh = dGeomGetClass(b->geom) == dTriMeshClass;
    const dReal none[3] = {0.0, 0.0, 0.0};
    dReal box[6], origin[3];
    if (!tree_is_ready(a) || (is_mesh && !tree_is_ready(b)))
        return 0.0;
    descent.a = dGeomGetData(a->geom);
    descent.b = is_mesh ? dGeomGetData(b->geom) : NULL;
    if (is_mesh) {
        origin_of(b, origin);
        relative_set(&descent.pose, a, b->now.R, origin);
        box_turn(box, &descent.pose, descent.b->middle, descent.b->half, 0.0);
    } else {
        relative_set(&descent.pose, a, b->now.R, b->now.p);
        Bound bound = b->now;
        memcpy(bound.R, descent.pose.R, sizeof bound.R);
        memcpy(bound.p, descent.pose.p, sizeof bound.p);
        bound_set(&descent.hull, &bound, dGeomGetClass(b->geom) == dCylinderClass);
        box_turn(box, &descent.pose, none, bound.half, bound.radius);
    }
    descent.least = most;
    descent.size = 0;
    pair_append(&descent, (TreePart){0, 0}, (TreePart){0, 0}, box);
    for (int pairs = 0; descent.size > 0 && descent.least > 0.0; pairs++) {
        const int at = --descent.size;
        if (pairs == MAX_PAIRS)
            return 0.0;
        memcpy(box, descent.waiting[at].box, sizeof box);
        pair_descend(&descent, descent.waiting[at].a, descent.waiting[at].b, box);
    }
    return descent.least;
}
