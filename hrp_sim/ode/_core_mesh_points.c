/* Contacts of a mesh with a single face of a box, such as a floor.
 *
 * ODE cuts every triangle that touches the box and compares every contact point with all others,
 * at a cost that grows with the square of the triangles. If the mesh reaches only one face, and
 * that less deep than it is away from the others, the contacts are simply the corners of triangles
 * that lie below this face. They are found in blocks of neighbouring corners.
 */
#include "_core.h"

#include <math.h>
#include <string.h>

#define BLOCK 32 /* corners */

typedef struct PointBlock {
    dReal box[6];
} PointBlock;

/* Sort points such that those before the middle are not beyond those after it along an axis. */
static void select_middle(dReal (*points)[3], int count, int middle, int axis)
{
    int first = 0, last = count - 1;
    while (first < last) {
        dReal pivot = points[(first + last) / 2][axis];
        int i = first, j = last;
        while (i <= j) {
            while (points[i][axis] < pivot)
                i++;
            while (points[j][axis] > pivot)
                j--;
            if (i > j)
                break;
            dReal swapped[3];
            memcpy(swapped, points[i], sizeof swapped);
            memcpy(points[i++], points[j], sizeof swapped);
            memcpy(points[j--], swapped, sizeof swapped);
        }
        if (middle <= j)
            last = j;
        else if (middle >= i)
            first = i;
        else
            return;
    }
}

static void points_box(dReal (*points)[3], int count, dReal box[6])
{
    for (int k = 0; k < 3; k++) {
        box[2 * k] = box[2 * k + 1] = points[0][k];
        for (int i = 1; i < count; i++) {
            box[2 * k] = min_real(box[2 * k], points[i][k]);
            box[2 * k + 1] = max_real(box[2 * k + 1], points[i][k]);
        }
    }
}

/* Sort points so that each BLOCK of them lies close together. */
static void points_sort(dReal (*points)[3], int count)
{
    while (count > BLOCK) {
        dReal box[6];
        int axis = 0, middle = (count / BLOCK + 1) / 2 * BLOCK;
        points_box(points, count, box);
        for (int k = 1; k < 3; k++)
            if (box[2 * k + 1] - box[2 * k] > box[2 * axis + 1] - box[2 * axis])
                axis = k;
        select_middle(points, count, middle, axis);
        points_sort(points, middle);
        points += middle;
        count -= middle;
    }
}

static int has_area(const dReal *a, const dReal *b, const dReal *c)
{
    dReal ab[3], ac[3], normal[3];
    for (int k = 0; k < 3; k++) {
        ab[k] = b[k] - a[k];
        ac[k] = c[k] - a[k];
    }
    cross3(normal, ab, ac);
    return dot3(normal, normal) > 0.0;
}

/* Collect the corners of a mesh's triangles. Returns 0 when memory is short. */
int mesh_points_create(Mesh *mesh, int vertices)
{
    char *used = calloc((size_t)vertices + 1, 1);
    mesh->points = malloc(sizeof(dReal) * 3 * (size_t)vertices + 1);
    mesh->blocks = malloc(sizeof(PointBlock) * (size_t)(vertices / BLOCK + 1));
    if (!used || !mesh->points || !mesh->blocks) {
        free(used);
        return 0;
    }
    for (int t = 0; t < mesh->corners; t += 3) {
        const dTriIndex *corner = mesh->indices + t;
        if (has_area(mesh->vertices + 3 * corner[0], mesh->vertices + 3 * corner[1],
                     mesh->vertices + 3 * corner[2]))
            used[corner[0]] = used[corner[1]] = used[corner[2]] = 1;
    }
    dReal(*points)[3] = (dReal(*)[3])mesh->points;
    for (int v = 0; v < vertices; v++)
        if (used[v])
            memcpy(points[mesh->point_count++], mesh->vertices + 3 * v, sizeof *points);
    free(used);
    points_sort(points, mesh->point_count);
    for (int i = 0; i < mesh->point_count; i += BLOCK)
        points_box(points + i, mesh->point_count - i < BLOCK ? mesh->point_count - i : BLOCK,
                   mesh->blocks[i / BLOCK].box);
    return 1;
}

void mesh_points_free(Mesh *mesh)
{
    free(mesh->points);
    free(mesh->blocks);
}

/* A face of a box: its axis in the box's frame, and the side of the box. */
typedef struct {
    int axis;
    dReal side;
} Face;

/* Find the only face of a box that a mesh reaches, less deep than it is away from all others.
 * Returns 0 if there is none. */
static int face_find(const Bound *mesh, const Bound *box, Face *face)
{
    dReal depth = -1.0, room = dInfinity, away[3];
    for (int i = 0; i < 3; i++)
        away[i] = mesh->p[i] - box->p[i];
    for (int k = 0; k < 3; k++) {
        dReal middle = 0.0, reach = 0.0;
        for (int i = 0; i < 3; i++)
            middle += box->R[3 * i + k] * away[i];
        for (int j = 0; j < 3; j++) {
            dReal turned = 0.0;
            for (int i = 0; i < 3; i++)
                turned += box->R[3 * i + k] * mesh->R[3 * i + j];
            reach += fabs(turned) * mesh->half[j];
        }
        dReal inside = box->half[k] - fabs(middle) - reach;
        if (inside > 0.0) {
            room = min_real(room, inside);
        } else if (depth < 0.0) {
            *face = (Face){k, middle < 0.0 ? -1.0 : 1.0};
            depth = box->half[k] - fabs(middle) + reach;
            room = min_real(room, 2.0 * box->half[k] - depth);
        } else {
            return 0;
        }
    }
    return depth >= 0.0 && depth < room;
}

/* Add the corners of a mesh below a face of a box. The normal points into the first shape. */
static void corners_add(Patch *patch, const Geom *a, const Geom *b, const Geom *mesh_shape,
                        const Geom *box_shape, const Face *face)
{
    const Mesh *mesh = dGeomGetData(mesh_shape->geom);
    const dReal *R = dGeomGetRotation(mesh_shape->geom), *p = dGeomGetPosition(mesh_shape->geom);
    const Bound *box = &box_shape->now;
    dReal up[3], normal[3], away[3];
    for (int i = 0; i < 3; i++) {
        up[i] = face->side * box->R[3 * i + face->axis];
        away[i] = p[i] - box->p[i];
    }
    unrotate4(normal, R, up);
    dReal height = box->half[face->axis] - dot3(up, away); /* of the face, in the mesh's frame */
    for (int first = 0; first < mesh->point_count; first += BLOCK) {
        const dReal *bounds = mesh->blocks[first / BLOCK].box;
        dReal lowest = 0.0;
        for (int k = 0; k < 3; k++)
            lowest += normal[k] * bounds[2 * k + (normal[k] < 0.0)];
        if (lowest > height)
            continue;
        for (int i = first; i < first + BLOCK && i < mesh->point_count; i++) {
            const dReal *corner = mesh->points + 3 * i;
            dReal depth = height - dot3(normal, corner);
            if (!(depth >= 0.0))
                continue;
            PatchPoint *point = patch_append(patch, a, b);
            rotate4(point->at.pos, R, corner);
            for (int k = 0; k < 3; k++) {
                point->at.pos[k] += p[k];
                point->at.normal[k] = a == mesh_shape ? up[k] : -up[k];
            }
            point->at.depth = depth;
            point->at.g1 = a->geom;
            point->at.g2 = b->geom;
        }
    }
}

/* Add the contacts of a mesh with the only face of a box that it reaches. Returns 0 if the shapes
 * are others. */
int mesh_face_collide(Patch *patch, const Geom *a, const Geom *b)
{
    int first = dGeomGetClass(a->geom), second = dGeomGetClass(b->geom);
    const Geom *mesh = first == dTriMeshClass ? a : b, *box = first == dTriMeshClass ? b : a;
    Face face;
    if (first + second != dTriMeshClass + dBoxClass || (first != dTriMeshClass && first != dBoxClass) ||
        !face_find(&mesh->now, &box->now, &face))
        return 0;
    corners_add(patch, a, b, mesh, box, &face);
    return 1;
}
