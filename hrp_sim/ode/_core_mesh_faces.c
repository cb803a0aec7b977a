/* Contacts of a mesh with a single face of a box, such as a floor.
 *
 * ODE cuts every triangle that touches the box and compares every contact point with all others,
 * at a cost that grows with the square of the triangles. If the mesh reaches only one face, and
 * that less deep than it is away from the others, the contacts are simply the corners of triangles
 * that lie below this face. They are found in blocks of neighbouring corners.
 */
#include "_core_collision.h"

#include <math.h>

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
    for (int first = 0; first < mesh->point_count; first += BLOCK_POINTS) {
        const dReal *bounds = mesh->boxes[first / BLOCK_POINTS];
        dReal lowest = 0.0;
        for (int k = 0; k < 3; k++)
            lowest += normal[k] * bounds[2 * k + (normal[k] < 0.0)];
        if (lowest > height)
            continue;
        for (int i = first; i < first + BLOCK_POINTS && i < mesh->point_count; i++) {
            const dReal *corner = mesh->points[i];
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
    int is_first = dGeomGetClass(a->geom) == dTriMeshClass;
    const Geom *mesh = is_first ? a : b, *box = is_first ? b : a;
    Face face = {0, 1.0};
    if (dGeomGetClass(mesh->geom) != dTriMeshClass || dGeomGetClass(box->geom) != dBoxClass ||
        !face_find(&mesh->now, &box->now, &face))
        return 0;
    corners_add(patch, a, b, mesh, box, &face);
    return 1;
}
