/* The parts of the engine that this program shares: the free motion of rigid bodies, and which
 * contact points of two links are simulated. Neither is ODE's, and both must be equal to the last
 * bit for the trajectories to be. All else, such as drives, joints and friction, is its own. */
#include "_core_collision.h"

#include "engine.h"

_Static_assert(sizeof(Mesh) <= MESH_BYTES, "there must be room for a mesh");

static World world; /* of which only the step and the substitute box are used */
static Patch patch;

void engine_begin(double step)
{
    world.step = step;
    world.substitute_box = dCreateBox(0, 1.0, 1.0, 1.0);
}

void group_save(dBodyID group, GroupState *state)
{
    memcpy(state->p, dBodyGetPosition(group), sizeof state->p);
    memcpy(state->quaternion, dBodyGetQuaternion(group), sizeof state->quaternion);
    memcpy(state->R, dBodyGetRotation(group), sizeof state->R);
    memcpy(state->v, dBodyGetLinearVel(group), sizeof state->v);
    memcpy(state->w, dBodyGetAngularVel(group), sizeof state->w);
}

/* Bodies are passed without joints: this program reads its own. */
dReal joint_rate(const Body *body, const Joint *joint)
{
    (void)body, (void)joint;
    return 0.0;
}

void joint_read_position(const Body *body, Joint *joint, dReal elapsed)
{
    (void)body, (void)joint, (void)elapsed;
}

void *engine_body(int groups, dBodyID *group, int geoms)
{
    Body *body = calloc(1, sizeof *body);
    body->groups = groups;
    body->group = group;
    body->spin = calloc((size_t)groups + 1, sizeof(Spin));
    body->middle = calloc((size_t)groups + 1, sizeof(GroupState));
    body->moving.items = calloc((size_t)geoms + 1, sizeof(Geom));
    body->fixed.items = calloc((size_t)geoms + 1, sizeof(Geom));
    body->moving.links = calloc((size_t)geoms + 1, sizeof(LinkShapes));
    body->fixed.links = calloc((size_t)geoms + 1, sizeof(LinkShapes));
    for (int g = 0; g < groups; g++) {
        dMass mass;
        dBodyGetMass(group[g], &mass);
        spin_init(&body->spin[g], &mass);
    }
    return body;
}

void mesh_prepare(void *mesh, double *vertices, int count, dTriIndex *indices, int corners)
{
    *(Mesh *)mesh = (Mesh){.vertices = vertices, .indices = indices, .corners = corners};
    mesh_blocks_create(mesh, count);
}

void shape_add(void *of_body, int stands, dGeomID geom, int link, dBodyID group)
{
    Body *body = of_body;
    GeomSet *set = stands ? &body->fixed : &body->moving;
    set->items[set->count++] = (Geom){.geom = geom, .link = link};
    set->colliding++;
    if (set->count == 1 || set->items[set->count - 2].link != link)
        set->links[set->link_count++] = (LinkShapes){
            .link = link, .group = group, .shapes = &set->items[set->count - 1]};
    set->links[set->link_count - 1].count++;
}

void shapes_end(void *of_body, void (*each)(dGeomID geom, void *shape, void *of_link))
{
    Body *body = of_body;
    GeomSet *sets[] = {&body->moving, &body->fixed};
    bounds_create(body);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < sets[s]->link_count; i++) {
            LinkShapes *link = &sets[s]->links[i];
            for (int k = 0; k < link->count; k++)
                each(link->shapes[k].geom, &link->shapes[k], link);
        }
}

void move_to_middle(void *body)
{
    drift_to_middle(&world, body);
}

/* Undo what ODE moved in its step; velocities stay. */
void return_to_middle(void *of_body)
{
    const Body *body = of_body;
    for (int g = 0; g < body->groups; g++) {
        const GroupState *middle = &body->middle[g];
        memcpy((dReal *)dBodyGetPosition(body->group[g]), middle->p, sizeof middle->p);
        memcpy((dReal *)dBodyGetRotation(body->group[g]), middle->R, sizeof middle->R);
    }
}

void move_to_end(void *body)
{
    drift_to_end(&world, body);
}

void shapes_move(void *body)
{
    bounds_place(body);
}

/* Neither guards nor interrupts are needed here. */
int guarded_collide(dGeomID a, dGeomID b, int max, dContactGeom *found, int stride)
{
    return dCollide(a, b, max, found, stride);
}

int meshes_collide(World *of, Patch *points, const Geom *a, const Geom *b)
{
    (void)of, (void)points, (void)a, (void)b;
    return 0;
}

void points_clear(void)
{
    patch.count = 0;
}

void points_add(void *shape, void *of_link, void *other, void *of_other)
{
    shapes_place(of_link);
    shapes_place(of_other);
    shapes_collide(&world, &patch, shape, other);
}

int shapes_of(const void *link)
{
    return ((const LinkShapes *)link)->count;
}

int points_found(void)
{
    return patch.count;
}

int points_reduce(int most)
{
    patch_reduce(&patch, most);
    return patch.count;
}

const dContactGeom *point_at(int i, dGeomID geoms[2])
{
    geoms[0] = patch.points[i].a->geom;
    geoms[1] = patch.points[i].b->geom;
    return &patch.points[i].at;
}
