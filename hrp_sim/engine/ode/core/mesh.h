/* Meshes: their corners in blocks, and contacts of two of them. */
#ifndef HRP_SIM_ODE_MESH_H
#define HRP_SIM_ODE_MESH_H

#include "contact_set.h"

#define BLOCK_POINTS 32
#define MAX_FOUND 512 /* contacts requested: ODE returns the first, not the deepest */

/* Make the blocks of a mesh and its box. Returns 0 when memory is short. */
int hrp_mesh_blocks_create(Mesh *mesh, int vertices);
void hrp_mesh_blocks_free(Mesh *mesh);

/* Make the tree of the triangles of a mesh. Returns 0 when memory is short. */
int hrp_mesh_tree_create(Mesh *mesh);

/* Destroy the chunks of a mesh in ODE. */
void hrp_mesh_chunks_destroy(Mesh *mesh);

/* Free the memory of the chunks of a mesh. */
void hrp_mesh_chunks_free(Mesh *mesh);

/* Append the contacts of two meshes. Returns 0 if the shapes are others. */
int hrp_meshes_collide(World *world, ContactSet *contacts, const Geom *a, const Geom *b);

#endif
