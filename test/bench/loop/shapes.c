/* Creates the collision shapes of a body. */
#include "loop.h"

static dTriMeshDataID mesh_read(Tag *tag)
{
    int vertices = integer(), corners = 3 * integer();
    double *points = array(3 * vertices, sizeof(double));
    float *singles = array(3 * vertices, sizeof(float));
    dTriIndex *indices = array(corners, sizeof(dTriIndex));
    numbers(points, 3 * vertices);
    for (int i = 0; i < 3 * vertices; i++)
        singles[i] = (float)points[i];
    for (int i = 0; i < corners; i++)
        indices[i] = (dTriIndex)integer();
    tag->points = points;
    tag->corners = indices;
    mesh_prepare(tag, points, vertices, indices, corners);
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    int stride = 3 * sizeof(dTriIndex);
    if (scene.original)
        dGeomTriMeshDataBuildSingle(data, singles, 3 * sizeof(float), vertices, indices, corners,
                                    stride);
    else
        dGeomTriMeshDataBuildDouble(data, points, 3 * sizeof(double), vertices, indices, corners,
                                    stride);
    return data;
}

static dGeomID shape_read(dSpaceID space, int kind, const double size[3], Tag *tag)
{
    switch (kind) {
    case BOX:
        return dCreateBox(space, size[0], size[1], size[2]);
    case SPHERE:
        return dCreateSphere(space, size[0]);
    case CYLINDER:
        return dCreateCylinder(space, size[0], size[1]);
    case CAPSULE:
        return dCreateCapsule(space, size[0], size[1]);
    default:
        return dCreateTriMesh(space, mesh_read(tag), 0, 0, 0);
    }
}

/* Whether fixed joints connect a group to the world; parents come before their children. */
static int stands(const Body *body, int group)
{
    for (int j = body->joints; group >= 0 && j-- > 0;)
        if (body->joint[j].child == group && body->joint[j].kind == FIXED)
            group = body->joint[j].parent;
    return group < 0;
}

void geom_create(int of_body, int order[2])
{
    Body *body = &scene.body[of_body];
    double size[3], p[3];
    dMatrix3 R;
    int kind = integer(), link = integer(), group = body->link[link].group;
    numbers(size, 3);
    matrix(R);
    numbers(p, 3);
    int material = integer(), standing = stands(body, group);
    dSpaceID space = standing && !scene.original ? scene.standing : body->space;
    if (material < 0)
        space = scene.untouched;
    Tag *tag = array(1, sizeof *tag);
    *tag = (Tag){.body = of_body, .link = link, .standing = standing,
                 .order = order[standing]++, .material = material};
    dGeomID geom = shape_read(space, kind, size, tag);
    dGeomSetData(geom, tag);
    if (group < 0) {
        dGeomSetPosition(geom, p[0], p[1], p[2]);
        dGeomSetRotation(geom, R);
    } else {
        tag->group = body->group[group];
        dGeomSetBody(geom, body->group[group]);
        dGeomSetOffsetPosition(geom, p[0], p[1], p[2]);
        dGeomSetOffsetRotation(geom, R);
    }
    if (material >= 0)
        shape_add(body->engine, standing, geom, link, tag->group);
}

void tag_complete(dGeomID geom, void *shape, void *of_link)
{
    Tag *tag = dGeomGetData(geom);
    tag->shape = shape;
    tag->of_link = of_link;
}
