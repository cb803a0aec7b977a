/* The corners of meshes in blocks of neighbours, each with a bounding box. */
#include "_core_collision.h"

#include <string.h>

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
        box_clear(box);
        for (int i = 0; i < count; i++)
            box_extend(box, points[i]);
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
    box_clear(box);
    for (int i = 0; i < mesh->corners; i++)
        box_extend(box, mesh->vertices + 3 * mesh->indices[i]);
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

/* Make the blocks of a mesh and its box. Returns 0 when memory is short. */
int mesh_blocks_create(Mesh *mesh, int vertices)
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
            box_clear(mesh->boxes[i / BLOCK_POINTS]);
        box_extend(mesh->boxes[i / BLOCK_POINTS], mesh->points[i]);
    }
    extent_set(mesh);
    return 1;
}

void mesh_blocks_free(Mesh *mesh)
{
    free(mesh->points);
    free(mesh->boxes);
}
