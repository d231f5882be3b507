// SPDX-License-Identifier: MIT
#include "pickle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Values are numbered in order of creation; every container holds numbers, so that cycles and
// shared values cost nothing and nothing here recurses.
enum kind { NONE, BOOL, INT, FLOAT, TEXT, TUPLE, LIST, DICT, GLOBAL, STORAGE, TENSOR };

enum global_id { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, STORAGE_TYPE };

static const struct global {
    const char *name; // module.name
    enum global_id id;
    enum sam_type type; // of a storage
    int bytes;
} globals[] = {
    { "collections.OrderedDict", ORDERED_DICT, 0, 0 },
    { "torch._utils._rebuild_tensor_v2", REBUILD_TENSOR, 0, 0 },
    { "torch._utils._rebuild_parameter", REBUILD_PARAMETER, 0, 0 },
    { "torch.FloatStorage", STORAGE_TYPE, SAM_F32, 4 },
    { "torch.HalfStorage", STORAGE_TYPE, SAM_F16, 2 },
    { "torch.BFloat16Storage", STORAGE_TYPE, SAM_BF16, 2 },
    { "torch.ByteStorage", STORAGE_TYPE, SAM_U8, 1 },
    { "torch.IntStorage", STORAGE_TYPE, SAM_I32, 4 },
    { "torch.DoubleStorage", STORAGE_TYPE, SAM_WEIGHT_OTHER, 8 },
    { "torch.ComplexFloatStorage", STORAGE_TYPE, SAM_WEIGHT_OTHER, 8 },
    { "torch.LongStorage", STORAGE_TYPE, SAM_WEIGHT_OTHER, 8 },
    { "torch.ShortStorage", STORAGE_TYPE, SAM_WEIGHT_OTHER, 2 },
    { "torch.CharStorage", STORAGE_TYPE, SAM_WEIGHT_OTHER, 1 },
    { "torch.BoolStorage", STORAGE_TYPE, SAM_WEIGHT_OTHER, 1 },
};

struct value {
    enum kind kind;
    union {
        int64_t number; // INT, BOOL
        struct {
            const char *at;
            uint32_t bytes;
        } text;
        struct {
            uint32_t first, count; // in vm.items
        } tuple;
        struct {
            uint32_t first, last; // in vm.cells; 0: empty
        } dict;
        const struct global *global;
        uint32_t args; // STORAGE, TENSOR: the tuple that describes it
    };
};

// One entry of a dict.
struct cell {
    uint32_t key, value, next; // next 0: the last
};

// A growing array.
struct array {
    void *data;
    size_t count, capacity, element;
};

struct vm {
    const char *file;
    const uint8_t *begin, *at, *end;
    struct sam_error *error;
    struct array values, items, cells, stack, marks, memo;
};

#define AT(array, type, i) (((type *) (array).data)[i])

static int fail(struct vm *vm, const char *fmt, ...) SAM_PRINTF(2, 3);

static int fail(struct vm *vm, const char *fmt, ...)
{
    char what[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return sam_fail(vm->error, SAM_EFORMAT, "%s: its pickle, before byte %zu: %s", vm->file,
                    (size_t) (vm->at - vm->begin), what);
}

static int reserve(struct vm *vm, struct array *a, size_t count)
{
    if (count <= a->capacity)
        return SAM_OK;
    size_t capacity = a->capacity ? a->capacity : 256;
    while (capacity < count)
        capacity *= 2;
    void *data = realloc(a->data, capacity * a->element);
    if (!data)
        return sam_fail(vm->error, SAM_ENOMEM, "%s: no memory to read its pickle", vm->file);
    a->data = data;
    a->capacity = capacity;
    return SAM_OK;
}

static int append(struct vm *vm, struct array *a, const void *element)
{
    const int status = reserve(vm, a, a->count + 1);
    if (!status)
        memcpy((uint8_t *) a->data + a->count++ * a->element, element, a->element);
    return status;
}

static struct value *value(struct vm *vm, uint32_t i)
{
    return &AT(vm->values, struct value, i);
}

static int push_index(struct vm *vm, uint32_t i)
{
    return append(vm, &vm->stack, &i);
}

static int push(struct vm *vm, struct value v)
{
    const uint32_t i = (uint32_t) vm->values.count;
    const int status = append(vm, &vm->values, &v);
    return status ? status : push_index(vm, i);
}

static int push_number(struct vm *vm, enum kind kind, int64_t number)
{
    return push(vm, (struct value){ .kind = kind, .number = number });
}

// Values above the last mark.
static size_t depth(const struct vm *vm)
{
    const size_t floor = vm->marks.count ? AT(vm->marks, uint32_t, vm->marks.count - 1) : 0;
    return vm->stack.count - floor;
}

static int pop(struct vm *vm, uint32_t *out)
{
    *out = 0;
    if (!depth(vm))
        return fail(vm, "an opcode takes more values than there are");
    *out = AT(vm->stack, uint32_t, --vm->stack.count);
    return SAM_OK;
}

static int pop_mark(struct vm *vm, uint32_t *floor)
{
    *floor = 0;
    if (!vm->marks.count)
        return fail(vm, "an opcode wants a mark, there is none");
    *floor = AT(vm->marks, uint32_t, --vm->marks.count);
    return SAM_OK;
}

// --- reading bytes ------------------------------------------------------------------------------

static int take(struct vm *vm, size_t bytes, const uint8_t **out)
{
    *out = NULL;
    if (bytes > (size_t) (vm->end - vm->at))
        return fail(vm, "it ends inside an opcode: truncated?");
    *out = vm->at;
    vm->at += bytes;
    return SAM_OK;
}

// An unsigned number of 1 to 8 bytes, least significant first.
static int take_number(struct vm *vm, int bytes, uint64_t *out)
{
    const uint8_t *p;
    const int status = take(vm, bytes, &p);
    *out = 0;
    for (int i = 0; i < bytes && !status; i++)
        *out |= (uint64_t) p[i] << 8 * i;
    return status;
}

static int take_text(struct vm *vm, int length_bytes)
{
    uint64_t bytes;
    const uint8_t *p;
    int status = take_number(vm, length_bytes, &bytes);
    if (!status)
        status = take(vm, bytes, &p);
    if (status)
        return status;
    return push(vm, (struct value){ .kind = TEXT, .text = { (const char *) p, (uint32_t) bytes } });
}

static int take_line(struct vm *vm, const char **text, int *bytes)
{
    *text = NULL;
    *bytes = 0;
    const uint8_t *newline = memchr(vm->at, '\n', vm->end - vm->at);
    if (!newline || newline - vm->at > 1024)
        return fail(vm, "a name of a global does not end");
    *text = (const char *) vm->at;
    *bytes = (int) (newline - vm->at);
    vm->at = newline + 1;
    return SAM_OK;
}

static int push_signed(struct vm *vm, int bytes)
{
    uint64_t u;
    if (bytes > 8)
        return fail(vm, "an integer of %d bytes, at most 8 are understood", bytes);
    const int status = take_number(vm, bytes, &u);
    if (status)
        return status;
    if (bytes && bytes < 8 && u >> (8 * bytes - 1))
        u |= ~UINT64_C(0) << 8 * bytes;
    return push_number(vm, INT, (int64_t) u);
}

// --- opcodes ------------------------------------------------------------------------------------

static int push_global(struct vm *vm, const char *module, int module_bytes, const char *name,
                       int name_bytes)
{
    for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++) {
        const char *known = globals[i].name;
        if (strlen(known) == (size_t) module_bytes + 1 + name_bytes &&
            memcmp(known, module, module_bytes) == 0 &&
            known + module_bytes == strrchr(known, '.') &&
            memcmp(known + module_bytes + 1, name, name_bytes) == 0)
            return push(vm, (struct value){ .kind = GLOBAL, .global = &globals[i] });
    }
    return fail(vm,
                "it asks for '%.*s.%.*s', which is not a container, number or tensor: refused, "
                "nothing was executed; see tools/convert_pt.py",
                sam_text_cut(module, (size_t) module_bytes, 45), module,
                sam_text_cut(name, (size_t) name_bytes, 45), name);
}

static int op_global(struct vm *vm)
{
    const char *module, *name;
    int module_bytes, name_bytes, status;
    if ((status = take_line(vm, &module, &module_bytes)) ||
        (status = take_line(vm, &name, &name_bytes)))
        return status;
    return push_global(vm, module, module_bytes, name, name_bytes);
}

// INST names a class to be called: the name is what to report.
static int op_instance(struct vm *vm)
{
    const int status = op_global(vm);
    return status ? status : fail(vm, "opcode INST is not among those understood: refused");
}

static int op_stack_global(struct vm *vm)
{
    uint32_t name, module;
    int status;
    if ((status = pop(vm, &name)) || (status = pop(vm, &module)))
        return status;
    const struct value *m = value(vm, module), *n = value(vm, name);
    if (m->kind != TEXT || n->kind != TEXT || m->text.bytes > 1024 || n->text.bytes > 1024)
        return fail(vm, "the name of a global is not a string");
    return push_global(vm, m->text.at, (int) m->text.bytes, n->text.at, (int) n->text.bytes);
}

// The topmost `count` values become a tuple.
static int make_tuple(struct vm *vm, size_t count)
{
    if (depth(vm) < count)
        return fail(vm, "a tuple takes more values than there are");
    const uint32_t first = (uint32_t) vm->items.count;
    const int status = reserve(vm, &vm->items, first + count);
    if (status)
        return status;
    vm->stack.count -= count;
    if (count)
        memcpy(&AT(vm->items, uint32_t, first), &AT(vm->stack, uint32_t, vm->stack.count),
               count * sizeof(uint32_t));
    vm->items.count += count;
    return push(vm, (struct value){ .kind = TUPLE, .tuple = { first, (uint32_t) count } });
}

static int op_tuple(struct vm *vm)
{
    uint32_t floor;
    const int status = pop_mark(vm, &floor);
    return status ? status : make_tuple(vm, vm->stack.count - floor);
}

static int op_put(struct vm *vm, uint64_t index)
{
    if (!depth(vm))
        return fail(vm, "it remembers a value where there is none");
    // An honest pickle numbers what it remembers from 0 on.
    if (index >= (uint64_t) (vm->end - vm->begin))
        return fail(vm, "it remembers value %" PRIu64 ", more than it can hold", index);
    const int status = reserve(vm, &vm->memo, index + 1);
    if (status)
        return status;
    while (vm->memo.count <= index)
        AT(vm->memo, uint32_t, vm->memo.count++) = UINT32_MAX;
    AT(vm->memo, uint32_t, index) = AT(vm->stack, uint32_t, vm->stack.count - 1);
    return SAM_OK;
}

static int op_get(struct vm *vm, uint64_t index)
{
    if (index >= vm->memo.count || AT(vm->memo, uint32_t, index) == UINT32_MAX)
        return fail(vm, "it recalls value %" PRIu64 ", which it never remembered", index);
    return push_index(vm, AT(vm->memo, uint32_t, index));
}

static int add_entry(struct vm *vm, uint32_t dict, uint32_t key, uint32_t v)
{
    const struct cell cell = { key, v, 0 };
    const uint32_t i = (uint32_t) vm->cells.count;
    const int status = append(vm, &vm->cells, &cell);
    if (status)
        return status;
    struct value *d = value(vm, dict);
    if (d->dict.last)
        AT(vm->cells, struct cell, d->dict.last).next = i;
    else
        d->dict.first = i;
    d->dict.last = i;
    return SAM_OK;
}

// The values above `floor` are keys and values in turn; below them stands the dict.
static int set_items(struct vm *vm, size_t floor)
{
    const size_t count = vm->stack.count - floor;
    vm->stack.count = floor;
    if (!depth(vm) || count % 2)
        return fail(vm, "entries without a dict, or a key without a value");
    const uint32_t dict = AT(vm->stack, uint32_t, floor - 1);
    if (value(vm, dict)->kind != DICT)
        return fail(vm, "it adds entries to a value that is not a dict");
    int status = SAM_OK;
    for (size_t i = 0; i < count && !status; i += 2)
        status = add_entry(vm, dict, AT(vm->stack, uint32_t, floor + i),
                           AT(vm->stack, uint32_t, floor + i + 1));
    return status;
}

// Lists may be there; no tensor is looked for in them, so what they hold is dropped.
static int append_items(struct vm *vm, size_t floor)
{
    vm->stack.count = floor;
    if (!depth(vm) || value(vm, AT(vm->stack, uint32_t, floor - 1))->kind != LIST)
        return fail(vm, "it adds entries to a value that is not a list");
    return SAM_OK;
}

static int op_marked(struct vm *vm, int (*finish)(struct vm *vm, size_t floor))
{
    uint32_t floor;
    const int status = pop_mark(vm, &floor);
    return status ? status : finish(vm, floor);
}

// --- tensors ------------------------------------------------------------------------------------

// Entry i of a tuple, or NULL where there is none of this kind.
static const struct value *entry(struct vm *vm, const struct value *tuple, uint32_t i,
                                 enum kind kind)
{
    if (tuple->kind != TUPLE || i >= tuple->tuple.count)
        return NULL;
    const struct value *v = value(vm, AT(vm->items, uint32_t, tuple->tuple.first + i));
    return v->kind == kind ? v : NULL;
}

// ('storage', type, key, device, count)
static int op_persistent_id(struct vm *vm)
{
    uint32_t id;
    const int status = pop(vm, &id);
    if (status)
        return status;
    const struct value *v = value(vm, id), *what = entry(vm, v, 0, TEXT),
                       *type = entry(vm, v, 1, GLOBAL);
    if (!what || what->text.bytes != 7 || memcmp(what->text.at, "storage", 7) != 0 || !type ||
        type->global->id != STORAGE_TYPE || !entry(vm, v, 2, TEXT) || !entry(vm, v, 4, INT))
        return fail(vm, "a persistent id that names no storage");
    return push(vm, (struct value){ .kind = STORAGE, .args = id });
}

static bool read_extents(struct vm *vm, const struct value *tuple, int64_t *out)
{
    for (uint32_t i = 0; i < tuple->tuple.count; i++) {
        const struct value *v = entry(vm, tuple, i, INT);
        if (!v)
            return false;
        out[i] = v->number;
    }
    return true;
}

// (storage, offset, size, stride, requires_grad, hooks)
static bool read_tensor(struct vm *vm, const struct value *args, struct sam_pickle_tensor *t)
{
    const struct value *storage = entry(vm, args, 0, STORAGE), *offset = entry(vm, args, 1, INT);
    const struct value *size = entry(vm, args, 2, TUPLE), *stride = entry(vm, args, 3, TUPLE);
    if (!storage || !offset || !size || !stride || size->tuple.count > SAM_MAX_RANK ||
        stride->tuple.count != size->tuple.count)
        return false;
    const struct value *id = value(vm, storage->args), *key = entry(vm, id, 2, TEXT);
    const struct global *type = entry(vm, id, 1, GLOBAL)->global;
    t->word = type->name;
    t->type = type->type;
    t->element_bytes = type->bytes;
    t->key = key->text.at;
    t->key_bytes = key->text.bytes;
    t->storage_count = entry(vm, id, 4, INT)->number;
    t->offset = offset->number;
    t->rank = (int) size->tuple.count;
    return read_extents(vm, size, t->shape) && read_extents(vm, stride, t->stride);
}

static int op_reduce(struct vm *vm)
{
    uint32_t args, callee;
    int status;
    if ((status = pop(vm, &args)) || (status = pop(vm, &callee)))
        return status;
    const struct value *f = value(vm, callee), *a = value(vm, args);
    if (f->kind != GLOBAL || a->kind != TUPLE)
        return fail(vm, "it calls a value that is not a function");
    struct sam_pickle_tensor unused;
    switch (f->global->id) {
    case ORDERED_DICT:
        if (a->tuple.count)
            return fail(vm, "an OrderedDict made from arguments");
        return push(vm, (struct value){ .kind = DICT });
    case REBUILD_TENSOR:
        if (!read_tensor(vm, a, &unused))
            return fail(vm, "a tensor without a storage, or with more than %d extents",
                        SAM_MAX_RANK);
        return push(vm, (struct value){ .kind = TENSOR, .args = args });
    case REBUILD_PARAMETER:
        if (!entry(vm, a, 0, TENSOR))
            return fail(vm, "a parameter without a tensor");
        return push_index(vm, AT(vm->items, uint32_t, a->tuple.first));
    case STORAGE_TYPE: break;
    }
    return fail(vm, "it calls '%s', which is not a function", f->global->name);
}

// State of an object: of an OrderedDict that carries attributes beside its entries.
static int op_build(struct vm *vm)
{
    uint32_t state;
    const int status = pop(vm, &state);
    if (status)
        return status;
    if (!depth(vm) || value(vm, AT(vm->stack, uint32_t, vm->stack.count - 1))->kind != DICT)
        return fail(vm, "it sets the state of a value that is not an OrderedDict");
    return SAM_OK;
}

// --- the machine --------------------------------------------------------------------------------

static int refuse(struct vm *vm, int op)
{
    static const struct {
        int op;
        const char *name;
    } known[] = {
        { 'o', "OBJ" },     { 0x81, "NEWOBJ" },  { 0x92, "NEWOBJ_EX" }, { 'P', "PERSID" },
        { 0x82, "EXT1" },   { 0x83, "EXT2" },    { 0x84, "EXT4" },      { '2', "DUP" },
        { '0', "POP" },     { '1', "POP_MARK" }, { 'S', "STRING" },     { 'I', "INT" },
        { 'V', "UNICODE" },
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].op == op)
            return fail(vm,
                        "opcode %s is not among those understood: refused, nothing was executed",
                        known[i].name);
    return fail(vm, "opcode 0x%02x is not among those understood: refused, nothing was executed",
                op);
}

static int op_proto(struct vm *vm)
{
    uint64_t version;
    const int status = take_number(vm, 1, &version);
    if (!status && (version < 2 || version > 5))
        return fail(vm, "protocol %d, expected 2 to 5", (int) version);
    return status;
}

static int op_mark(struct vm *vm)
{
    const uint32_t floor = (uint32_t) vm->stack.count;
    return append(vm, &vm->marks, &floor);
}

// Opcodes followed by a number of so many bytes.
static int run_counted(struct vm *vm, int op, int bytes)
{
    uint64_t n;
    const int status = take_number(vm, bytes, &n);
    if (status)
        return status;
    switch (op) {
    case 'q':
    case 'r': return op_put(vm, n);
    case 'h':
    case 'j': return op_get(vm, n);
    case 'K':
    case 'M': return push_number(vm, INT, (int64_t) n);
    case 'G': return push_number(vm, FLOAT, 0); // no number of a tensor: its value is not used
    case 0x8a: return push_signed(vm, (int) n);
    }
    return SAM_OK; // 0x95, FRAME: a hint for buffers
}

static int run_opcode(struct vm *vm, int op)
{
    switch (op) {
    case 0x80: return op_proto(vm);
    case 'q':
    case 'h':
    case 'K':
    case 0x8a: return run_counted(vm, op, 1);
    case 'M': return run_counted(vm, op, 2);
    case 'r':
    case 'j': return run_counted(vm, op, 4);
    case 'G':
    case 0x95: return run_counted(vm, op, 8);
    case 'J': return push_signed(vm, 4);
    case 0x94: return op_put(vm, vm->memo.count); // MEMOIZE
    case 'N': return push_number(vm, NONE, 0);
    case 0x88: return push_number(vm, BOOL, 1);
    case 0x89: return push_number(vm, BOOL, 0);
    case 'U':
    case 0x8c: return take_text(vm, 1);
    case 'X': return take_text(vm, 4);
    case '(': return op_mark(vm);
    case ')': return make_tuple(vm, 0);
    case 0x85: return make_tuple(vm, 1);
    case 0x86: return make_tuple(vm, 2);
    case 0x87: return make_tuple(vm, 3);
    case 't': return op_tuple(vm);
    case ']': return push(vm, (struct value){ .kind = LIST });
    case '}': return push(vm, (struct value){ .kind = DICT });
    case 'a': return depth(vm) ? append_items(vm, vm->stack.count - 1) : refuse(vm, op);
    case 'e': return op_marked(vm, append_items);
    case 's': return depth(vm) > 1 ? set_items(vm, vm->stack.count - 2) : refuse(vm, op);
    case 'u': return op_marked(vm, set_items);
    case 'c': return op_global(vm);
    case 'i': return op_instance(vm);
    case 0x93: return op_stack_global(vm);
    case 'Q': return op_persistent_id(vm);
    case 'R': return op_reduce(vm);
    case 'b': return op_build(vm);
    }
    return refuse(vm, op);
}

// Run to STOP; *root is the one value left.
static int run(struct vm *vm, uint32_t *root)
{
    for (;;) {
        const uint8_t *op;
        int status = take(vm, 1, &op);
        if (!status && *op == '.')
            break;
        if (!status)
            status = run_opcode(vm, *op);
        if (status)
            return status;
    }
    if (vm->stack.count != 1 || vm->marks.count || vm->at != vm->end)
        return fail(vm, "it ends with %zu values and %zu bytes left over, expected one value",
                    vm->stack.count, (size_t) (vm->end - vm->at));
    *root = AT(vm->stack, uint32_t, 0);
    return SAM_OK;
}

// --- what it says -------------------------------------------------------------------------------

// The dict of names and tensors: under 'model', or the root itself.
static int find_state(struct vm *vm, uint32_t root, uint32_t *state)
{
    if (value(vm, root)->kind != DICT)
        return fail(vm, "expected a dict, got another value");
    bool has_tensor = false;
    int models = 0;
    const struct value *first = NULL;
    *state = root;
    for (uint32_t c = value(vm, root)->dict.first; c; c = AT(vm->cells, struct cell, c).next) {
        const struct cell *cell = &AT(vm->cells, struct cell, c);
        const struct value *key = value(vm, cell->key), *v = value(vm, cell->value);
        has_tensor |= v->kind == TENSOR;
        if (key->kind != TEXT)
            continue;
        first = first ? first : key;
        if (key->text.bytes == 5 && memcmp(key->text.at, "model", 5) == 0 && v->kind == DICT) {
            *state = cell->value;
            models++;
        }
    }
    if (models > 1)
        return fail(vm, "the key 'model' is there twice");
    if (!models && !has_tensor)
        return fail(vm,
                    "expected a dict of tensors, itself or under the key 'model'; its first key "
                    "is '%.*s'",
                    first ? sam_text_cut(first->text.at, first->text.bytes, 60) : 0,
                    first ? first->text.at : "");
    return SAM_OK;
}

static int list_state(struct vm *vm, uint32_t state,
                      int (*found)(void *priv, const struct sam_pickle_tensor *t), void *priv)
{
    for (uint32_t c = value(vm, state)->dict.first; c; c = AT(vm->cells, struct cell, c).next) {
        const struct cell *cell = &AT(vm->cells, struct cell, c);
        const struct value *key = value(vm, cell->key), *v = value(vm, cell->value);
        struct sam_pickle_tensor t = { 0 };
        if (key->kind != TEXT)
            return fail(vm, "a key of the dict of tensors is not a string");
        t.name = key->text.at;
        t.name_bytes = key->text.bytes;
        if (v->kind != TENSOR || !read_tensor(vm, value(vm, v->args), &t))
            return fail(vm, "'%.*s' is not a tensor", sam_text_cut(t.name, t.name_bytes, 100),
                        t.name);
        const int status = found(priv, &t);
        if (status)
            return status;
    }
    return SAM_OK;
}

int sam_pickle_list(const char *file, const uint8_t *bytes, size_t size,
                    int (*found)(void *priv, const struct sam_pickle_tensor *t), void *priv,
                    struct sam_error *error)
{
    struct vm vm = {
        .file = file, .begin = bytes, .at = bytes, .end = bytes + size, .error = error
    };
    struct array *arrays[] = { &vm.values, &vm.items, &vm.cells, &vm.stack, &vm.marks, &vm.memo };
    for (int i = 0; i < 6; i++)
        arrays[i]->element = sizeof(uint32_t);
    vm.values.element = sizeof(struct value);
    vm.cells.element = sizeof(struct cell);

    const struct cell none = { 0 }; // so that 0 means: no cell
    uint32_t root = 0, state = 0;
    int status = append(&vm, &vm.cells, &none);
    if (!status)
        status = run(&vm, &root);
    if (!status)
        status = find_state(&vm, root, &state);
    if (!status)
        status = list_state(&vm, state, found, priv);
    for (int i = 0; i < 6; i++)
        free(arrays[i]->data);
    return status;
}
