/* Trees of boxes, for rays and distances. */
#ifndef HRP_SIM_ODE_TREE_H
#define HRP_SIM_ODE_TREE_H

#include "vectors.h"

#define TREE_WIDTH 4  /* parts of a node, tested side by side */
#define TREE_STACK 128 /* parts that wait while a ray visits a tree, see tree.c */
#define TREE_LEVELS 24 /* sorted by surface area at most */

/* Up to TREE_WIDTH parts: nodes, or a few items. */
typedef struct {
    dReal box[6][TREE_WIDTH]; /* lower and upper bound along each axis; inverted if there is no part */
    int first[TREE_WIDTH];    /* number of the node, or of the first item */
    int count[TREE_WIDTH];    /* of items; 0 for a node */
} TreeNode;

typedef struct {
    TreeNode *nodes; /* the root first */
    int count, capacity;
} Tree;

typedef struct {
    dReal box[6];
    int number;
} TreeItem;

/* Build a tree of items, and sort them as it refers to them. At most `leaf` items lie side by
 * side. The first levels are sorted by surface area; the other ones halve the items as they are.
 * No ray finds a box with NaN or without an extent from lower to upper. Returns 0 when memory is
 * short, and the tree is empty then. */
int hrp_tree_build(Tree *tree, TreeItem *items, int count, int leaf, int levels);
void hrp_tree_free(Tree *tree);

#endif
