/* Collision shapes of a body in ODE, and the links that carry them. */
#include "shapes.h"
#include "mesh.h"

#include <stdlib.h>
#include <string.h>

static dGeomID mesh_create(Mesh *mesh, const Flat *flat, int k)
{
    const int *v = flat_ints(flat, GEOM_FIRST_VERTEX), *t = flat_ints(flat, GEOM_FIRST_TRIANGLE);
    int vertices = v[k + 1] - v[k], given = 3 * (t[k + 1] - t[k]);
    int corners = given == 3 ? 6 : given; /* ODE crashes on meshes of one triangle: repeat it */
    /* ODE stores pointers to both arrays. */
    mesh->vertices = malloc(sizeof(dReal) * 3 * (size_t)vertices + 1);
    mesh->indices = malloc(sizeof(dTriIndex) * (size_t)corners + 1);
    mesh->data = dGeomTriMeshDataCreate();
    if (!mesh->vertices || !mesh->indices || !mesh->data)
        return NULL;
    memcpy(mesh->vertices, flat_reals(flat, VERTICES) + 3 * v[k],
           sizeof(dReal) * 3 * (size_t)vertices);
    for (int i = 0; i < corners; i++)
        mesh->indices[i] = (dTriIndex)flat_ints(flat, TRIANGLES)[3 * t[k] + i % given];
    mesh->corners = corners;
    mesh->vertex_count = vertices;
    if (!hrp_mesh_blocks_create(mesh, vertices))
        return NULL;
    dGeomTriMeshDataBuildDouble(mesh->data, mesh->vertices, 3 * sizeof(dReal), vertices,
                                mesh->indices, corners, 3 * sizeof(dTriIndex));
    dGeomID geom = dCreateTriMesh(0, mesh->data, 0, 0, 0);
    dGeomSetData(geom, mesh); /* geoms without a mesh have no data */
    return geom;
}

static dGeomID geom_create(Body *body, const Flat *flat, int k)
{
    const double *size = flat_reals(flat, GEOM_SIZE) + 3 * k;
    switch (flat_ints(flat, GEOM_KIND)[k]) {
    case GEOM_BOX:
        return dCreateBox(0, size[0], size[1], size[2]);
    case GEOM_SPHERE:
        return dCreateSphere(0, size[0]);
    case GEOM_CYLINDER:
        return dCreateCylinder(0, size[0], size[1]);
    case GEOM_CAPSULE:
        return dCreateCapsule(0, size[0], size[1]);
    default:
        return mesh_create(&body->mesh[body->meshes++], flat, k);
    }
}

static void geom_place(dGeomID geom, dBodyID group, const double *p, const double *R)
{
    dMatrix3 matrix;
    to_matrix12(matrix, R);
    if (group) {
        dGeomSetBody(geom, group);
        dGeomSetOffsetPosition(geom, p[0], p[1], p[2]);
        dGeomSetOffsetRotation(geom, matrix);
    } else {
        dGeomSetPosition(geom, p[0], p[1], p[2]);
        dGeomSetRotation(geom, matrix);
    }
}

/* Whether a group is connected to the world by fixed joints only (those carry force sensors). */
static int is_fixed_to_world(const Body *body, int group)
{
    for (int j = body->joints; group >= 0 && j-- > 0;) /* parents come before their children */
        if (body->joint[j].child == group && body->joint[j].kind == JOINT_FIXED)
            group = body->joint[j].parent;
    return group < 0;
}

/* Create one shape. Returns 0 when memory is short. */
static int geom_add(Body *body, const Flat *flat, int k)
{
    int link = flat_ints(flat, GEOM_LINK)[k], material = flat_ints(flat, GEOM_MATERIAL)[k];
    int group = body->link_group[link];
    GeomSet *set = is_fixed_to_world(body, group) ? &body->fixed : &body->moving;
    dGeomID geom = geom_create(body, flat, k);
    if (!geom)
        return 0;
    geom_place(geom, group_or_world(body, group), flat_reals(flat, GEOM_P) + 3 * k,
               flat_reals(flat, GEOM_R) + 9 * k);
    set->colliding += material >= 0;
    set->items[set->count++] =
        (Geom){.geom = geom,
               .link = link,
               .material = material,
               .index = k,
               .surface = body->surface[k].rule != RULE_NONE ? &body->surface[k] : NULL};
    return 1;
}

/* List the links of a set with their colliding shapes, which lie side by side: shapes are in the
 * order of their links. Returns 0 when memory is short. */
static int links_list(GeomSet *set, const Body *body)
{
    set->links = calloc((size_t)set->colliding + 1, sizeof *set->links);
    if (!set->links)
        return 0;
    for (int i = 0; i < set->colliding; i++) {
        Geom *shape = &set->items[i];
        const int group = body->link_group[shape->link];
        if (i == 0 || shape->link != shape[-1].link)
            set->links[set->link_count++] =
                (LinkShapes){.link = shape->link,
                             .shapes = shape,
                             .group = group_or_world(body, group),
                             .group_p = group < 0 ? NULL : body->motion[group].p,
                             .group_R = group < 0 ? NULL : body->motion[group].R};
        set->links[set->link_count - 1].count++;
    }
    return 1;
}

int hrp_geoms_create(Body *body, const Flat *flat)
{
    size_t count = (size_t)flat->count[PER_GEOM];
    body->moving.items = calloc(count + 1, sizeof(Geom));
    body->fixed.items = calloc(count + 1, sizeof(Geom));
    body->mesh = calloc(count + 1, sizeof(Mesh));
    body->surface = calloc(count + 1, sizeof(Surface));
    if (!body->moving.items || !body->fixed.items || !body->mesh || !body->surface)
        return 0;
    memcpy(body->surface, flat_reals(flat, GEOM_SURFACE), count * sizeof(Surface));
    for (int collides = 1; collides >= 0; collides--)
        for (int k = 0; k < (int)count; k++)
            if ((flat_ints(flat, GEOM_MATERIAL)[k] >= 0) == collides && !geom_add(body, flat, k))
                return 0;
    return links_list(&body->moving, body) && links_list(&body->fixed, body);
}

void hrp_geoms_place(Body *body, const Flat *flat)
{
    for (int i = 0; i < body->fixed.count; i++) {
        const Geom *geom = &body->fixed.items[i];
        if (body->link_group[geom->link] < 0)
            geom_place(geom->geom, NULL, flat_reals(flat, GEOM_P) + 3 * geom->index,
                       flat_reals(flat, GEOM_R) + 9 * geom->index);
    }
}

static void set_destroy(GeomSet *set)
{
    for (int i = 0; i < set->count; i++) /* count is 0 if the allocation failed */
        dGeomDestroy(set->items[i].geom);
    set->count = set->colliding = 0;
}

void hrp_geoms_destroy(Body *body)
{
    set_destroy(&body->moving);
    set_destroy(&body->fixed);
    for (int i = 0; i < body->meshes; i++) {
        hrp_mesh_chunks_destroy(&body->mesh[i]);
        if (body->mesh[i].data)
            dGeomTriMeshDataDestroy(body->mesh[i].data);
    }
}

void hrp_geoms_free(Body *body)
{
    for (int i = 0; i < body->meshes; i++) {
        free(body->mesh[i].vertices);
        free(body->mesh[i].indices);
        hrp_mesh_blocks_free(&body->mesh[i]);
        hrp_mesh_chunks_free(&body->mesh[i]);
        hrp_tree_free(&body->mesh[i].tree);
        free(body->mesh[i].tree_indices);
    }
    free(body->moving.items);
    free(body->fixed.items);
    free(body->mesh);
    free(body->surface);
    free(body->moving.links);
    free(body->fixed.links);
    free(body->pairs);
    free(body->limits);
    free(body->near);
}

/* Append the pairs of a link with later links of its body that it may collide with, if there is
 * a list. */
static void pairs_append(Body *body, LinkShapes *a, GeomSet *set, int first)
{
    const int *allowed = body->contacts + (size_t)a->link * (size_t)body->links;
    for (int j = first; j < set->link_count; j++) {
        LinkShapes *b = &set->links[j];
        if (allowed[b->link] == CONTACT_NEVER || a->group == b->group)
            continue;
        if (body->pairs)
            body->pairs[body->pair_count] =
                (LinkPair){.links = {a, b}, .limits = body->limits + body->limit_count};
        body->pair_count++;
        body->limit_count += (size_t)a->count * (size_t)b->count;
    }
}

static void pairs_collect(Body *body)
{
    body->pair_count = body->limit_count = 0;
    for (int i = 0; i < body->moving.link_count; i++) {
        pairs_append(body, &body->moving.links[i], &body->moving, i + 1);
        pairs_append(body, &body->moving.links[i], &body->fixed, 0);
    }
}

int hrp_link_pairs_list(const World *world, Body *body)
{
    if (!world->self_collision)
        return 1;
    pairs_collect(body);
    body->near = malloc(sizeof *body->near * (body->pair_count + 1));
    body->limits = calloc(body->limit_count + 1, sizeof *body->limits);
    body->pairs = malloc(sizeof *body->pairs * (body->pair_count + 1));
    if (!body->near || !body->limits || !body->pairs)
        return 0;
    pairs_collect(body);
    return 1;
}
