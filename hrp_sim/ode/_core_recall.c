/* Recognition of the contacts of the last step: those of the same two groups, next to the same point.
 *
 * Contacts come and go, so their numbers change from step to step; what a contact leaves to the next
 * step would else often be taken for that of another one.
 */
#include "_core.h"

#include <string.h>

#define POINT_UNIT 1e-4 /* [m] */
#define MAX_COORDINATE 2e9

static int group_number(dBodyID group)
{
    return group ? (int)(size_t)dBodyGetData(group) : 0;
}

static int table_size(int contacts)
{
    int size = 2;
    while (size < 2 * contacts)
        size *= 2;
    return size;
}

/* Make room in the hash table for the pairs of groups of so many contacts. Returns 0 when memory is
 * short. */
int memory_table_reserve(World *world, int capacity)
{
    int *table = realloc(world->memory_table, (size_t)table_size(capacity) * sizeof *table);
    if (!table)
        return 0;
    world->memory_table = table;
    return 1;
}

static int is_of(const ContactMemory *memory, const int groups[2])
{
    return memory->groups[0] == groups[0] && memory->groups[1] == groups[1];
}

/* Return the entry of a pair of groups, or the empty one where it belongs. */
static int *entry_of(const World *world, const int groups[2])
{
    const unsigned mask = (unsigned)world->memory_table_size - 1;
    unsigned i = (unsigned)groups[0] * 2654435761u + (unsigned)groups[1] * 2246822519u;
    for (i ^= i >> 15;; i++) {
        int *entry = &world->memory_table[i & mask];
        if (*entry < 0 || is_of(&world->memory_before[*entry], groups))
            return entry;
    }
}

/* List the pairs of groups of the contacts of the last step, which follow each other. */
void memory_table_fill(World *world, int count)
{
    world->memory_table_size = table_size(count);
    memset(world->memory_table, -1, (size_t)world->memory_table_size * sizeof(int));
    for (int i = count - 1; i >= 0; i--)
        *entry_of(world, world->memory_before[i].groups) = i;
    world->memory_count = count;
}

/* Find what the contact at a point left in the last step, and keep it by its current number. */
void memory_recall(World *world, int number, const dReal p[3], dBodyID a, dBodyID b)
{
    ContactMemory *now = &world->memory[number];
    dVector3 local;
    dReal nearest = dInfinity;
    if (number >= world->candidate_limit)
        return;
    *now = (ContactMemory){.groups = {group_number(a ? a : b), a ? group_number(b) : 0}};
    dBodyGetPosRelPoint(a ? a : b, p[0], p[1], p[2], local);
    for (int k = 0; k < 3; k++)
        now->at[k] = (int)clamp(local[k] / POINT_UNIT, -MAX_COORDINATE, MAX_COORDINATE);
    for (int i = *entry_of(world, now->groups); i >= 0 && i < world->memory_count; i++) {
        const ContactMemory *before = &world->memory_before[i];
        dReal distance = 0.0;
        if (!is_of(before, now->groups))
            break;
        for (int k = 0; k < 3; k++) {
            dReal apart = (dReal)before->at[k] - now->at[k];
            distance += apart * apart;
        }
        if (distance >= nearest)
            continue;
        nearest = distance;
        now->wait = before->wait;
        now->interval = before->interval;
        now->active = before->active;
    }
}
