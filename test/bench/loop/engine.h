/* What this program takes from the engine, see engine.c. */
#ifndef ENGINE_H
#define ENGINE_H

#include <ode/ode.h>

#define MESH_BYTES 256 /* room for the engine's Mesh at the start of a geom's user data */

void engine_begin(double step);

/* A body: its groups, which move freely, and its shapes by link. */
void *engine_body(int groups, dBodyID *group, int geoms);
void mesh_prepare(void *mesh, double *vertices, int count, dTriIndex *indices, int corners);
void shape_add(void *body, int stands, dGeomID geom, int link, dBodyID group);
void shapes_end(void *body, void (*each)(dGeomID geom, void *shape, void *of_link));

void move_to_middle(void *body);
void return_to_middle(void *body);
void move_to_end(void *body);

/* Contact points of two links. */
void shapes_move(void *body);
void points_clear(void);
void points_add(void *shape, void *of_link, void *other, void *of_other);
int points_found(void);
int shapes_of(const void *link);
int points_reduce(int most);
const dContactGeom *point_at(int i, dGeomID geoms[2]);

#endif
