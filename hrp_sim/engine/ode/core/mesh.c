/* Contacts of two meshes.
 *
 * ODE lists all pairs of triangles that intersect, which cannot be interrupted, before it computes
 * contacts. If these may be many, the triangles are collided in chunks of neighbours instead. ODE
 * also fails where many contacts lie in few places, as it removes one that it did not store: such
 * meshes are collided in chunks as well, from which few contacts are requested.
 */
#include "mesh.h"
#include "bounds.h"
#include "contact_set.h"
#include "guard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_TRIANGLES 128
#define MANY_CHUNK_PAIRS 64 /* take ODE up to half a second */
#define CHUNK_CONTACTS 64    /* requested of two chunks */
#define FEW_CONTACTS 4       /* so few are all stored */
#define TRIANGLES_SIDE_BY_SIDE 4

/* Sort points such that those before the middle are not beyond those after it along an axis. */
static void middle_select(dReal (*points)[3], int count, int middle, int axis)
{
    int first = 0, last = count - 1;
    while (first < last) {
        dReal pivot = points[(first + last) / 2][axis], swapped[3];
        int i = first, j = last;
        while (i <= j) {
            while (points[i][axis] < pivot)
                i++;
            while (points[j][axis] > pivot)
                j--;
            if (i > j)
                break;
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

/* Sort points so that those of each block lie close together. */
static void points_sort(dReal (*points)[3], int count)
{
    while (count > BLOCK_POINTS) {
        dReal box[6];
        int axis = 0, middle = (count / BLOCK_POINTS + 1) / 2 * BLOCK_POINTS;
        hrp_box_clear(box);
        for (int i = 0; i < count; i++)
            hrp_box_extend(box, points[i]);
        for (int k = 1; k < 3; k++)
            if (box[2 * k + 1] - box[2 * k] > box[2 * axis + 1] - box[2 * axis])
                axis = k;
        middle_select(points, count, middle, axis);
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

static void extent_set(Mesh *mesh)
{
    dReal box[6];
    hrp_box_clear(box);
    for (int i = 0; i < mesh->corners; i++)
        hrp_box_extend(box, mesh->vertices + 3 * mesh->indices[i]);
    for (int k = 0; k < 3 && mesh->corners > 0; k++) {
        mesh->middle[k] = 0.5 * (box[2 * k] + box[2 * k + 1]);
        mesh->half[k] = 0.5 * (box[2 * k + 1] - box[2 * k]);
    }
}

/* List the corners of triangles that have an area, each once. Returns their number. */
static int points_list(const Mesh *mesh, char *used, dReal (*points)[3])
{
    int count = 0;
    for (int t = 0; t < mesh->corners; t += 3) {
        const dTriIndex *corner = mesh->indices + t;
        if (!has_area(mesh->vertices + 3 * corner[0], mesh->vertices + 3 * corner[1],
                      mesh->vertices + 3 * corner[2]))
            continue;
        for (int k = 0; k < 3; k++)
            if (!used[corner[k]]) {
                used[corner[k]] = 1;
                memcpy(points[count++], mesh->vertices + 3 * corner[k], sizeof *points);
            }
    }
    return count;
}

int hrp_mesh_blocks_create(Mesh *mesh, int vertices)
{
    char *used = calloc((size_t)vertices + 1, 1);
    mesh->points = malloc(sizeof *mesh->points * (size_t)(vertices + 1));
    mesh->boxes = malloc(sizeof *mesh->boxes * (size_t)(vertices / BLOCK_POINTS + 1));
    if (!used || !mesh->points || !mesh->boxes) {
        free(used);
        return 0;
    }
    mesh->point_count = points_list(mesh, used, mesh->points);
    free(used);
    points_sort(mesh->points, mesh->point_count);
    for (int i = 0; i < mesh->point_count; i++) {
        if (i % BLOCK_POINTS == 0)
            hrp_box_clear(mesh->boxes[i / BLOCK_POINTS]);
        hrp_box_extend(mesh->boxes[i / BLOCK_POINTS], mesh->points[i]);
    }
    extent_set(mesh);
    return 1;
}

void hrp_mesh_blocks_free(Mesh *mesh)
{
    free(mesh->points);
    free(mesh->boxes);
}

int hrp_mesh_tree_create(Mesh *mesh)
{
    const int count = mesh->corners / 3;
    TreeItem *items = malloc(((size_t)count + 1) * sizeof *items);
    dTriIndex *sorted = malloc(3 * sizeof *sorted * ((size_t)count + 1));
    const dTriIndex *corners = mesh->indices;
    for (int t = 0; items && t < count; t++) {
        items[t].number = t;
        hrp_box_clear(items[t].box);
        for (int k = 0; k < 3; k++)
            hrp_box_extend(items[t].box, mesh->vertices + 3 * *corners++);
    }
    const int done = items && sorted && hrp_tree_build(&mesh->tree, items, count,
                                                       TRIANGLES_SIDE_BY_SIDE, TREE_LEVELS);
    for (int t = 0; done && t < count; t++)
        memcpy(sorted + 3 * t, mesh->indices + 3 * items[t].number, 3 * sizeof *sorted);
    mesh->tree_indices = done ? sorted : NULL;
    free(done ? NULL : sorted);
    free(items);
    return done;
}

/* A triangle by the place of its middle, in the box of its mesh. */
typedef struct {
    unsigned place;
    int triangle;
} Placed;

static int compare_placed(const void *left, const void *right)
{
    const Placed *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->triangle < b->triangle ? -1 : 1;
}

/* Return the place of a triangle along a curve through the box of its mesh (Morton's), on which
 * neighbours lie close together. */
static unsigned place_along_curve(const Mesh *mesh, const dTriIndex corner[3])
{
    unsigned place = 0;
    for (int k = 0; k < 3; k++) {
        dReal middle = 0.0, low = mesh->middle[k] - mesh->half[k];
        for (int i = 0; i < 3; i++)
            middle += mesh->vertices[3 * corner[i] + (dTriIndex)k] / 3.0;
        dReal share = 0.5 * (middle - low) / max_real(mesh->half[k], 1e-30);
        unsigned cell = (unsigned)(1023.0 * min_real(max_real(share, 0.0), 1.0));
        for (unsigned bit = 0; bit < 10; bit++)
            place |= (cell >> bit & 1) << (3 * bit + (unsigned)k);
    }
    return place;
}

/* Set the corners of a mesh in the order of its chunks. Returns 0 when memory is short. */
static int triangles_sort(Mesh *mesh)
{
    int triangles = mesh->corners / 3;
    Placed *placed = malloc(sizeof *placed * (size_t)triangles);
    if (!placed)
        return 0;
    for (int t = 0; t < triangles; t++)
        placed[t] = (Placed){place_along_curve(mesh, mesh->indices + 3 * t), t};
    qsort(placed, (size_t)triangles, sizeof *placed, compare_placed);
    for (int t = 0; t < triangles; t++)
        memcpy(mesh->chunk_indices + 3 * t, mesh->indices + 3 * placed[t].triangle,
               3 * sizeof(dTriIndex));
    free(placed);
    return 1;
}

/* Make the chunks of a mesh, once they are needed. Returns 0 when memory is short. */
static int chunks_create(Mesh *mesh)
{
    int triangles = mesh->corners / 3;
    int count = (triangles + CHUNK_TRIANGLES - 1) / CHUNK_TRIANGLES;
    if (mesh->chunk_count)
        return 1;
    hrp_mesh_chunks_free(mesh); /* of an attempt that failed */
    mesh->chunk_indices = malloc(sizeof(dTriIndex) * (size_t)mesh->corners);
    mesh->chunks = calloc((size_t)count, sizeof *mesh->chunks);
    if (!mesh->chunk_indices || !mesh->chunks || !triangles_sort(mesh))
        return 0;
    for (int c = 0; c < count; c++) {
        MeshChunk *chunk = &mesh->chunks[c]; /* of at least two triangles, as ODE requires */
        int first = (int)((long)triangles * c / count);
        chunk->indices = mesh->chunk_indices + 3 * first;
        chunk->corners = 3 * ((int)((long)triangles * (c + 1) / count) - first);
        hrp_box_clear(chunk->box);
        for (int i = 0; i < chunk->corners; i++)
            hrp_box_extend(chunk->box, mesh->vertices + 3 * chunk->indices[i]);
    }
    mesh->chunk_count = count;
    return 1;
}

/* Return a chunk of a mesh as a shape, or NULL when memory is short. There is one shape for all
 * chunks of a mesh. */
static dGeomID chunk_place(Mesh *mesh, MeshChunk *chunk, dGeomID shape)
{
    if (!chunk->data) {
        chunk->data = dGeomTriMeshDataCreate();
        if (!chunk->data)
            return NULL;
        dGeomTriMeshDataBuildDouble(chunk->data, mesh->vertices, 3 * sizeof(dReal),
                                    mesh->vertex_count, chunk->indices, chunk->corners,
                                    3 * sizeof(dTriIndex));
    }
    if (!mesh->chunk_shape)
        mesh->chunk_shape = dCreateTriMesh(0, chunk->data, 0, 0, 0);
    const dReal *p = dGeomGetPosition(shape);
    dGeomTriMeshSetData(mesh->chunk_shape, chunk->data);
    dGeomSetPosition(mesh->chunk_shape, p[0], p[1], p[2]);
    dGeomSetRotation(mesh->chunk_shape, dGeomGetRotation(shape));
    return mesh->chunk_shape;
}

void hrp_mesh_chunks_destroy(Mesh *mesh)
{
    if (mesh->chunk_shape)
        dGeomDestroy(mesh->chunk_shape);
    for (int c = 0; c < mesh->chunk_count; c++)
        if (mesh->chunks[c].data)
            dGeomTriMeshDataDestroy(mesh->chunks[c].data);
    mesh->chunk_shape = NULL;
    mesh->chunk_count = 0;
}

void hrp_mesh_chunks_free(Mesh *mesh)
{
    free(mesh->chunks);
    free(mesh->chunk_indices);
    mesh->chunks = NULL;
    mesh->chunk_indices = NULL;
    mesh->chunk_count = 0;
}

/* Set the box of a chunk, or of another box in the frame of a shape, in the frame of another. */
static void box_turn(dReal turned[6], const dReal box[6], dGeomID from, dGeomID to)
{
    const dReal *R = dGeomGetRotation(from), *p = dGeomGetPosition(from);
    const dReal *R_to = dGeomGetRotation(to), *p_to = dGeomGetPosition(to);
    dReal middle[3], half[3], in_world[3];
    for (int k = 0; k < 3; k++) {
        middle[k] = 0.5 * (box[2 * k] + box[2 * k + 1]);
        half[k] = 0.5 * (box[2 * k + 1] - box[2 * k]) + BOUND_MARGIN;
    }
    rotate4(in_world, R, middle);
    for (int k = 0; k < 3; k++)
        in_world[k] += p[k] - p_to[k];
    unrotate4(middle, R_to, in_world);
    for (int k = 0; k < 3; k++) {
        dReal reach = 0.0;
        for (int j = 0; j < 3; j++)
            reach +=
                fabs(R_to[k] * R[j] + R_to[4 + k] * R[4 + j] + R_to[8 + k] * R[8 + j]) * half[j];
        turned[2 * k] = middle[k] - reach;
        turned[2 * k + 1] = middle[k] + reach;
    }
}

static void mesh_box(const Mesh *mesh, dReal box[6])
{
    for (int k = 0; k < 3; k++) {
        box[2 * k] = mesh->middle[k] - mesh->half[k];
        box[2 * k + 1] = mesh->middle[k] + mesh->half[k];
    }
}

/* The pairs of chunks of two meshes whose boxes overlap, one after another. */
typedef struct {
    const Geom *a, *b;
    int i, j;      /* the chunks, the first pair being (-1, 0) */
    dReal box[6];  /* of the second chunk in the frame of the first mesh */
} ChunkPairs;

/* Go to the next pair. Returns 0 if there is none. */
static int chunk_pairs_next(ChunkPairs *pairs)
{
    const Mesh *a = dGeomGetData(pairs->a->geom), *b = dGeomGetData(pairs->b->geom);
    dReal whole[6];
    mesh_box(a, whole);
    for (; pairs->j < b->chunk_count; pairs->j++, pairs->i = -1) {
        if (pairs->i < 0)
            box_turn(pairs->box, b->chunks[pairs->j].box, pairs->b->geom, pairs->a->geom);
        if (!boxes_overlap(whole, pairs->box))
            continue;
        while (++pairs->i < a->chunk_count)
            if (boxes_overlap(a->chunks[pairs->i].box, pairs->box))
                return 1;
    }
    return 0;
}

/* Whether ODE may take long to collide two meshes as a whole. */
static int are_many(const Geom *a, const Geom *b)
{
    Mesh *mesh_a = dGeomGetData(a->geom), *mesh_b = dGeomGetData(b->geom);
    double pairs = (mesh_a->corners / 3.0) * (mesh_b->corners / 3.0);
    int count = 0;
    if (pairs <= (double)CHUNK_TRIANGLES * CHUNK_TRIANGLES * MANY_CHUNK_PAIRS ||
        !chunks_create(mesh_a) || !chunks_create(mesh_b))
        return 0;
    ChunkPairs chunks = {.a = a, .b = b, .i = -1};
    while (count <= MANY_CHUNK_PAIRS && chunk_pairs_next(&chunks))
        count++;
    return count > MANY_CHUNK_PAIRS;
}

/* Append the contacts that ODE finds of two shapes, at most a number. Returns 0 if ODE fails. */
static int contacts_append(ContactSet *contacts, const Geom *a, const Geom *b, dGeomID in_a,
                           dGeomID in_b, int max)
{
    ContactPoint *found = hrp_contact_set_reserve(contacts, max);
    int count = hrp_guarded_collide(in_a, in_b, max, &found->at, sizeof *found);
    for (int i = 0; i < count; i++) {
        found[i].a = a;
        found[i].b = b;
        found[i].at.g1 = a->geom;
        found[i].at.g2 = b->geom;
    }
    contacts->count += count > 0 ? count : 0;
    return count >= 0;
}

/* Append the contacts of two meshes, chunk by chunk, unless the step is given up. Returns 0 if
 * some are missing. */
static int chunks_collide(World *world, ContactSet *contacts, const Geom *a, const Geom *b)
{
    Mesh *mesh_a = dGeomGetData(a->geom), *mesh_b = dGeomGetData(b->geom);
    int complete = chunks_create(mesh_a) && chunks_create(mesh_b);
    ChunkPairs pairs = {.a = a, .b = b, .i = -1};
    while (complete && !hrp_is_interrupted(world) && chunk_pairs_next(&pairs)) {
        dGeomID in_a = chunk_place(mesh_a, &mesh_a->chunks[pairs.i], a->geom);
        dGeomID in_b = chunk_place(mesh_b, &mesh_b->chunks[pairs.j], b->geom);
        complete = in_a && in_b &&
                   (contacts_append(contacts, a, b, in_a, in_b, CHUNK_CONTACTS) ||
                    contacts_append(contacts, a, b, in_a, in_b, FEW_CONTACTS));
    }
    return complete;
}

int hrp_meshes_collide(World *world, ContactSet *contacts, const Geom *a, const Geom *b)
{
    if (dGeomGetClass(a->geom) != dTriMeshClass || dGeomGetClass(b->geom) != dTriMeshClass)
        return 0;
    if (hrp_is_interrupted(world))
        return 1;
    if (are_many(a, b) || !contacts_append(contacts, a, b, a->geom, b->geom, MAX_FOUND))
        world->collide_failed |= !chunks_collide(world, contacts, a, b);
    return 1;
}
