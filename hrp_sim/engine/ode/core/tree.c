/* Trees of boxes: items are split where boxes of least surface, which fewest rays meet, have fewest
 * items (the surface area heuristic, of 7 planes along the longest axis; Wald, 2007). */
#include "tree.h"
#include "bounds.h"

#include <stdlib.h>

#define BINS 8

/* Each node halves what is left below the sorted levels twice, so there are at most 16 more levels;
 * each leaves up to three parts on the stack. */
_Static_assert(TREE_STACK > (TREE_WIDTH - 1) * (TREE_LEVELS + 16), "the stack is too small");

typedef struct {
    dReal box[6];
    int count;
} Bin;

static dReal middle_of(const TreeItem *item, int axis)
{
    return 0.5 * item->box[2 * axis] + 0.5 * item->box[2 * axis + 1];
}

/* Return half the surface of a box, zero if it is empty. */
static dReal surface_of(const dReal box[6])
{
    const dReal x = box[1] - box[0], y = box[3] - box[2], z = box[5] - box[4];
    return x >= 0.0 && y >= 0.0 && z >= 0.0 ? x * y + y * z + z * x : 0.0;
}

/* A split into bins along an axis. */
typedef struct {
    int axis;
    dReal low, per_length;
} Ruler;

static int bin_of(const Ruler *ruler, const TreeItem *item)
{
    const dReal at = (middle_of(item, ruler->axis) - ruler->low) * ruler->per_length;
    return at > 0.0 ? at < BINS ? (int)at : BINS - 1 : 0; /* 0 for NaN */
}

/* Lay bins along the axis along which items lie farthest apart. Returns 0 if they do not. */
static int ruler_set(Ruler *ruler, const TreeItem *items, int count)
{
    dReal box[6], middle[3], length = 0.0;
    *ruler = (Ruler){0, 0.0, 0.0};
    hrp_box_clear(box);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++)
            middle[k] = middle_of(&items[i], k);
        hrp_box_extend(box, middle);
    }
    for (int k = 0; k < 3; k++)
        if (box[2 * k + 1] - box[2 * k] > length) {
            length = box[2 * k + 1] - box[2 * k];
            *ruler = (Ruler){k, box[2 * k], BINS / length};
        }
    return length > 0.0;
}

/* Return the first bin of the second part where rays meet fewest items, 0 if one part is empty. */
static int best_bin(const Bin bins[BINS])
{
    dReal box[6], right[BINS], least = dInfinity;
    int count = 0, best = 0;
    hrp_box_clear(box);
    for (int b = BINS - 1; b > 0; b--) {
        hrp_box_unite(box, bins[b].box);
        count += bins[b].count;
        right[b] = count ? surface_of(box) * count : dInfinity;
    }
    count = 0;
    hrp_box_clear(box);
    for (int b = 1; b < BINS; b++) {
        hrp_box_unite(box, bins[b - 1].box);
        count += bins[b - 1].count;
        const dReal cost = count ? surface_of(box) * count + right[b] : dInfinity;
        if (cost < least) {
            least = cost;
            best = b;
        }
    }
    return best;
}

/* Sort items into two parts. Returns the number of the first one, from 1 to count - 1. */
static int items_split(TreeItem *items, int count)
{
    Ruler ruler;
    Bin bins[BINS];
    if (!ruler_set(&ruler, items, count))
        return count / 2;
    for (int b = 0; b < BINS; b++) {
        hrp_box_clear(bins[b].box);
        bins[b].count = 0;
    }
    for (int i = 0; i < count; i++) {
        Bin *bin = &bins[bin_of(&ruler, &items[i])];
        hrp_box_unite(bin->box, items[i].box);
        bin->count++;
    }
    const int best = best_bin(bins);
    if (best == 0)
        return count / 2;
    int first = 0, last = count - 1;
    while (first <= last) {
        if (bin_of(&ruler, &items[first]) < best) {
            first++;
            continue;
        }
        const TreeItem swapped = items[first];
        items[first] = items[last];
        items[last--] = swapped;
    }
    return first;
}

/* Append a node. Returns its number, or -1 when memory is short. */
static int node_append(Tree *tree)
{
    if (tree->count == tree->capacity) {
        const int capacity = tree->capacity ? tree->capacity + tree->capacity / 2 : 8;
        TreeNode *nodes = realloc(tree->nodes, (size_t)capacity * sizeof *nodes);
        if (!nodes)
            return -1;
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    return tree->count++;
}

typedef struct {
    int first, count;
} Part;

/* Split items into up to TREE_WIDTH parts, none of more than so many if possible. Returns how many
 * parts there are. */
static int parts_split(Part parts[TREE_WIDTH], TreeItem *items, int leaf, int is_sorted)
{
    int part_count = 1;
    while (part_count < TREE_WIDTH) {
        Part *most = &parts[0];
        for (int k = 1; k < part_count; k++)
            if (parts[k].count > most->count)
                most = &parts[k];
        if (most->count <= leaf)
            break;
        const int left = is_sorted ? items_split(items + most->first, most->count) : most->count / 2;
        parts[part_count++] = (Part){most->first + left, most->count - left};
        most->count = left;
    }
    return part_count;
}

/* Build a node of items, and set its box. Returns its number, or -1 when memory is short. */
static int node_build(Tree *tree, TreeItem *items, Part all, int leaf, int levels, dReal whole[6])
{
    Part parts[TREE_WIDTH] = {all};
    const int part_count = parts_split(parts, items, leaf, levels > 0);
    const int number = node_append(tree);
    hrp_box_clear(whole);
    for (int k = 0; k < TREE_WIDTH && number >= 0; k++) {
        dReal box[6];
        Part part = k < part_count ? parts[k] : (Part){0, 0};
        hrp_box_clear(box);
        if (part.count > leaf) {
            const int child = node_build(tree, items, part, leaf, levels - 1, box);
            if (child < 0)
                return -1;
            part = (Part){child, 0};
        }
        for (int i = 0; i < part.count; i++)
            hrp_box_unite(box, items[part.first + i].box);
        hrp_box_unite(whole, box);
        TreeNode *node = &tree->nodes[number];
        for (int side = 0; side < 6; side++)
            node->box[side][k] = box[side];
        node->first[k] = part.first;
        node->count[k] = part.count;
    }
    return number;
}

int hrp_tree_build(Tree *tree, TreeItem *items, int count, int leaf, int levels)
{
    dReal whole[6];
    tree->count = 0;
    if (node_build(tree, items, (Part){0, count}, leaf, levels, whole) >= 0)
        return 1;
    hrp_tree_free(tree);
    return 0;
}

void hrp_tree_free(Tree *tree)
{
    free(tree->nodes);
    *tree = (Tree){NULL, 0, 0};
}
