/* backend.h - what a device must be able to do, as one table of C functions.
 *
 * A backend owns the memory of its device and compiles recorded graphs for the device.
 * Seven entries of the table are required (marked "Required"); any other entry that is
 * NULL has the default that its comment states. Every function gets `self` of the table,
 * may be called from any thread, and reports failure by an error made with lz_error,
 * never by printing or ending the process. Data and computations are opaque pointers of the
 * backend, called payloads; the library does the counting, waiting and sharing. */
#ifndef LAZULI_BACKEND_H
#define LAZULI_BACKEND_H

#include <lazuli/schema.h>
#include <lazuli/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A table of another major version is refused. A table of an older or newer minor version is
 * accepted: struct_size says which entries it has; entries beyond count as NULL. */
enum { LZ_BACKEND_ABI = 1, LZ_BACKEND_ABI_MINOR = 2 };

/* ---- devices ---- */

/* The hardware behind a virtual device: "CPU" 0, "CUDA" 1, or what the backend says. */
typedef struct lz_backend_device {
    int8_t type;
    int64_t ordinal;
} lz_backend_device;

typedef struct lz_memory_info {
    int64_t free_bytes, total_bytes; /* of the device; -1: unknown */
    int64_t used_bytes, peak_bytes;  /* by this backend; -1: unknown */
} lz_memory_info;

/* ---- data ---- */

typedef struct lz_data_type {
    lz_dtype dtype;
    lz_ints sizes;
} lz_data_type;

/* Elements in the memory of the host. */
typedef struct lz_host_tensor {
    lz_data_type type;
    lz_ints strides; /* in elements */
    void *data;
    void (*drop)(void *owner); /* NULL: borrowed for the call. Otherwise the callee may keep the memory, */
    void *owner;               /* and calls drop once, from any thread, when it no longer needs the memory */
} lz_host_tensor;

/* ---- nodes: what was recorded ---- */

typedef struct lz_node lz_node;

typedef struct lz_output {
    const lz_node *node;
    uint32_t index;
} lz_output;

typedef enum lz_node_kind {
    LZ_NODE_OP,  /* an operator */
    LZ_NODE_DATA /* data of the device: a parameter of the graph */
} lz_node_kind;

/* An argument of an operator's schema, as the call passed it. */
typedef enum lz_arg_kind {
    LZ_ARG_NONE,    /* an absent option */
    LZ_ARG_VALUE,   /* fixed: part of the graph */
    LZ_ARG_TENSOR,  /* one output of another node */
    LZ_ARG_TENSORS, /* a list; node NULL stands for an absent one */
    LZ_ARG_SCALAR,  /* a number that differs from run to run: only its kind is known */
    /* Seed and position of a random operator: two integers that differ from run to run. This argument comes
     * after those of the schema: lz_node_arg_get(n, op->nargs). docs/adding-a-backend.md says which
     * numbers the CPU derives from seed and position. */
    LZ_ARG_RANDOM
} lz_arg_kind;

typedef struct lz_node_arg {
    lz_arg_kind kind;
    uint32_t number;          /* SCALAR: which of the node's run-time numbers; RANDOM: the first of two */
    lz_scalar_kind scalar;    /* SCALAR */
    lz_value value;           /* VALUE */
    const lz_output *tensors; /* TENSOR, TENSORS */
    size_t n;
} lz_node_arg;

LZ_API lz_node_kind lz_node_kind_of(const lz_node *n);
LZ_API const lz_op_row *lz_node_op(const lz_node *n);                    /* NULL: data */
LZ_API lz_node_arg lz_node_arg_get(const lz_node *n, size_t i);          /* of the schema, in its order */
LZ_API size_t lz_node_operands(const lz_node *n, const lz_output **out); /* all tensor arguments */
LZ_API size_t lz_node_numbers(const lz_node *n); /* how many run-time numbers the arguments have */
LZ_API size_t lz_node_outputs(const lz_node *n);
LZ_API lz_data_type lz_node_type(const lz_node *n, size_t output); /* sizes [0] if a mask leaves it out */
LZ_API lz_loc lz_node_loc(const lz_node *n);                       /* the line of the user's program */
LZ_API const char *lz_node_scope(const lz_node *n);                /* "" without one */

/* ---- lowering context: a graph to be compiled ---- */

typedef struct lz_lowering lz_lowering;

typedef enum lz_emission { LZ_NOT_EMITTED, LZ_EMITTING, LZ_EMITTED } lz_emission;

/* A parameter is data (number 0), or run-time number `number` of an operator. */
typedef struct lz_parameter {
    const lz_node *node;
    uint32_t number;
    lz_scalar_kind scalar; /* LZ_SCALAR_NONE: data */
    lz_data_type type;     /* of data */
} lz_parameter;

/* The parameter's memory may become the output's, if the argument is donated when the graph runs. The core's
 * pairs are a prediction: parameters that no tensor uses afterwards, each with an output of the same dtype
 * and sizes. Without `must` the graph has to run also when the argument is not donated; the core never sets
 * `must`. */
typedef struct lz_alias_pair {
    uint32_t output, parameter;
    bool must;
} lz_alias_pair;

LZ_API const char *lz_lowering_name(const lz_lowering *l);
LZ_API lz_backend_device lz_lowering_device(const lz_lowering *l);
/* Operands come before their users. Nodes of parameters are included. */
LZ_API size_t lz_lowering_nodes(const lz_lowering *l, const lz_node *const **out);
LZ_API size_t lz_lowering_results(const lz_lowering *l, const lz_output **out);
/* Data first, then run-time numbers, each in the order of the nodes. */
LZ_API size_t lz_lowering_parameters(const lz_lowering *l, const lz_parameter **out);
LZ_API size_t lz_lowering_aliases(const lz_lowering *l, const lz_alias_pair **out);
/* The index of a node in the list of lz_lowering_nodes. */
LZ_API size_t lz_lowering_index(const lz_lowering *l, const lz_node *n);

/* How far each node has been emitted. If `compile` fails, the library takes the first node that is
 * LZ_EMITTING, in the order of lz_lowering_nodes, as the cause: the error names that node and its line. If
 * the error is LZ_ERR_UNSUPPORTED, the node falls back to the CPU as if `supports` had refused it, and the
 * rest is compiled again. So a backend that finds out only during `compile` marks the node and returns the
 * error. */
LZ_API lz_emission lz_lowering_emission(const lz_lowering *l, const lz_node *n);
LZ_API void lz_lowering_set_emission(lz_lowering *l, const lz_node *n, lz_emission e);

LZ_API void *lz_lowering_payload(const lz_lowering *l); /* the payload of create_lowering_context */

/* A graph made by hand: an empty lowering for a device, "npu:0". lz_lowering_add_result adds a result and all
 * nodes that the result needs. The nodes belong to a context (lz_ir). The context must outlive the lowering
 * and must not record meanwhile. Parameters are in the order in which they were first needed. */
LZ_API LZ_MUST_USE lz_err *lz_lowering_create(const char *device, const char *name, lz_lowering **out);
LZ_API void lz_lowering_destroy(lz_lowering *l); /* NULL does nothing */
/* *out: the index of the result. */
LZ_API LZ_MUST_USE lz_err *lz_lowering_add_result(lz_lowering *l, lz_output o, size_t *out);
LZ_API LZ_MUST_USE lz_err *lz_lowering_set_up_alias(lz_lowering *l, lz_alias_pair pair);

/* ---- running ---- */

/* The value of a parameter: data, or a number. */
typedef struct lz_argument {
    void *data; /* payload; NULL for a number */
    lz_scalar number;
    /* The data is not needed afterwards: the run may use its memory for results, but only from the point on
     * where it can no longer fail, because a failure must leave the arguments unchanged. The library
     * releases donated data like any other. */
    bool donated;
} lz_argument;

/* A backend with a queue of its own may return before the work is done, if all later calls that concern the
 * results and arguments (reading, copying, running, releasing) take effect after that work. The backend must
 * wait for the work where an operator of the graph can fail (an index out of range), because the library
 * then computes the results that do not depend on that operator. `synchronize` reports other late
 * failures. */
typedef struct lz_execution {
    const lz_argument *arguments; /* in the order of the parameters; data of this backend, on `device` */
    size_t n;
    lz_backend_device device;
    /* Payloads, in the order of the results. On entry the placeholders (create_data_placeholder). On
     * success each is a payload: the placeholder, filled, or another payload; the backend releases a
     * placeholder that it replaces. On failure each is as it was on entry, or NULL if it was released. */
    void **results;
    size_t n_results;
    /* Set to the index of the node that failed, where it is known: its lz_lowering_index when the graph was
     * compiled. Later syncs that run the compiled graph have other nodes, with the same indices. */
    size_t *failed;
    int threads; /* threads of the host that the run may use; 0: one for each core */
} lz_execution;

/* ---- IR builder: how the core makes nodes that no user recorded ---- */

typedef struct lz_ir lz_ir; /* makes nodes: a recording context */

/* The value of one tensor argument: an output (node NULL: absent), or a list of outputs. */
typedef struct lz_operands {
    const lz_output *v;
    size_t n;
} lz_operands;
typedef struct lz_data lz_data;

/* The recorder of a context, for builders, which make nodes out of nodes, and for callers of a builder. Only
 * the context's thread may use it. An output that a function returns has one count of its node, which the
 * caller releases with lz_ir_release. */
LZ_API lz_ir *lz_ir_of(lz_ctx *c);
LZ_API void lz_ir_release(lz_ir *ir, lz_output o);
/* args: the arguments of the schema, in its order; tensor arguments are of kind none there and come as `in`.
 * Dtypes and sizes of the node are inferred. *out: the node's first output. */
LZ_API LZ_MUST_USE lz_err *lz_ir_make(lz_ir *ir, const lz_op_row *op, const lz_value *args,
                                      const lz_operands *in, size_t n, lz_output *out);
/* The output that a tensor has as its value; and a new tensor with an output as its value, which belongs to
 * the innermost scope. */
LZ_API LZ_MUST_USE lz_err *lz_ir_output(lz_tensor *t, lz_output *out);
LZ_API LZ_MUST_USE lz_err *lz_ir_tensor(lz_ir *ir, lz_output o, lz_tensor **out);

/* Each entry returns one count of a node; for an entry that is NULL the library's own is used. The core
 * calls make_device_data of a backend's builder for each tensor that is held, make_cast where a
 * result is written to a tensor of another dtype, and make_scalar, make_expand and make_generic where
 * a storage grows. The core never calls make_size_*, because sizes are known when a graph is recorded. They
 * are for graphs made by hand: the node of a size is a number, a tensor without dimensions. Lists of tensors
 * are arguments, not nodes. */
typedef struct lz_ir_builder {
    size_t struct_size;
    lz_err *(*make_device_data)(void *self, lz_ir *ir, lz_data *data, lz_output *out);
    lz_err *(*make_scalar)(void *self, lz_ir *ir, lz_scalar value, lz_dtype dtype, lz_output *out);
    lz_err *(*make_expand)(void *self, lz_ir *ir, lz_output x, lz_ints sizes, bool is_scalar, lz_output *out);
    lz_err *(*make_cast)(void *self, lz_ir *ir, lz_output x, lz_dtype to, lz_output *out);
    lz_err *(*make_generic)(void *self, lz_ir *ir, const lz_op_row *op, const lz_value *args,
                            const lz_operands *in, size_t n, lz_output *out);
    lz_err *(*make_size_node)(void *self, lz_ir *ir, lz_output x, int64_t dim, lz_output *out);
    lz_err *(*make_size_add)(void *self, lz_ir *ir, lz_output a, lz_output b, lz_output *out);
    lz_err *(*make_size_mul)(void *self, lz_ir *ir, lz_output a, lz_output b, lz_output *out);
    lz_err *(*make_size_div)(void *self, lz_ir *ir, lz_output a, lz_output b, lz_output *out);
} lz_ir_builder;

/* ---- streams, events, pinned memory: for devices that have them ---- */

typedef struct lz_event lz_event;

typedef struct lz_async_entries {
    size_t struct_size;
    lz_err *(*stream_create)(void *self, lz_backend_device d, void **stream);
    void (*stream_destroy)(void *self, void *stream);
    lz_err *(*stream_wait)(void *self, void *stream); /* the host waits */
    lz_err *(*event_record)(void *self, void *stream, void **event);
    lz_err *(*event_wait)(void *self, void *event, void *stream); /* stream NULL: the host waits */
    void (*event_destroy)(void *self, void *event);
    lz_err *(*pinned_alloc)(void *self, size_t bytes, void **out);
    void (*pinned_free)(void *self, void *ptr);
    lz_err *(*copy_to_device)(void *self, const lz_host_tensor *from, void *data, void *stream);
    lz_err *(*copy_to_host)(void *self, void *data, const lz_host_tensor *to, void *stream);
} lz_async_entries;

/* ---- collectives ---- */

typedef enum lz_reduction {
    LZ_REDUCE_SUM,
    LZ_REDUCE_PROD,
    LZ_REDUCE_MIN,
    LZ_REDUCE_MAX,
    LZ_REDUCE_MEAN
} lz_reduction;

typedef struct lz_collective_entries {
    size_t struct_size;
    lz_err *(*group_create)(void *self, const int32_t *ranks, size_t n, void **group);
    void (*group_destroy)(void *self, void *group);
    lz_err *(*all_reduce)(void *self, void *group, lz_reduction how, void *const *data, size_t n, void **out);
    lz_err *(*all_gather)(void *self, void *group, void *data, int64_t dim, void **out);
    lz_err *(*reduce_scatter)(void *self, void *group, lz_reduction how, void *data, int64_t dim, void **out);
    lz_err *(*broadcast)(void *self, void *group, int32_t root, void *data, void **out);
    lz_err *(*all_to_all)(void *self, void *group, void *data, int64_t split, int64_t concat, void **out);
} lz_collective_entries;

/* ---- the table ---- */

typedef struct lz_metric_value {
    const char *name;
    int64_t value;
} lz_metric_value;

typedef struct lz_backend {
    size_t struct_size; /* sizeof(lz_backend) where it was compiled */
    uint32_t abi;       /* LZ_BACKEND_ABI << 16 | LZ_BACKEND_ABI_MINOR */
    const char *name;   /* of its virtual devices: letters and underscores, "npu" for npu:0 */
    void *self;         /* different for each backend; NULL: the library sets a unique one */

    /* Required: memory. */
    lz_err *(*get_backend_devices)(void *self, lz_backend_device *out, size_t room, size_t *n);
    lz_err *(*make_computation_data_from_tensor)(void *self, const lz_host_tensor *t, lz_backend_device d,
                                                 void **out);
    /* Fills memory of the host. The dtype of that memory is the logical dtype; the data's may differ. */
    lz_err *(*make_tensor_from_computation_data)(void *self, void *data, lz_dtype logical_scalar_type,
                                                 const lz_host_tensor *out);
    void (*release_data)(void *self, void *data);
    /* Required: code. `compile` gives one computation for each of the n lowerings, in their order; none after
     * an error. n is greater than 1 where a context has replicas (lz_options): one graph, a lowering for each
     * device. See lz_lowering_set_emission. */
    lz_err *(*compile)(void *self, lz_lowering *const *instances, size_t n, void **out);
    lz_err *(*execute_computation)(void *self, void *computation, const lz_execution *x);
    void (*release_computation)(void *self, void *computation);

    /* Life. Defaults: nothing happens. */
    lz_err *(*initialize_aten_bindings)(void *self);    /* once, before anything else */
    void (*prepare_to_exit)(void *self);                /* once, when the process ends by exit */
    lz_err *(*set_rng_seed)(void *self, uint64_t seed); /* when a program sets a seed */
    /* Recording. Default: the library's own builder. */
    const lz_ir_builder *(*get_ir_builder)(void *self);
    /* Data. Defaults, in this order: uploads a tensor without dimensions; NULL; the data of a leaf. */
    lz_err *(*make_computation_data_from_scalar)(void *self, lz_scalar value, lz_backend_device d,
                                                 void **out);
    lz_err *(*create_data_placeholder)(void *self, lz_backend_device d, const lz_data_type *t, void **out);
    lz_data *(*get_computation_data_from_node)(void *self, const lz_node *n);
    /* Default: the elements go through the host. */
    lz_err *(*copy_data)(void *self, void *data, lz_backend_device from, lz_backend_device to, void **out);
    /* Lowering. n 0: the lowering is empty, and lz_lowering_add_result will fill it. Default: no payload. */
    lz_err *(*create_lowering_context)(void *self, lz_lowering *l, const lz_node *const *post_order, size_t n,
                                       void **payload);
    void (*release_lowering_context)(void *self, void *payload);
    /* Whether the backend can compile this operator for these dtypes. Default: yes. */
    bool (*supports)(void *self, const lz_node *n);
    /* Called before a graph for `device` is compiled. `devices` are `device` and its replicas; the backend
     * may replace each by the device to compile for, which lz_lowering_device then returns. The computations
     * still run on the original devices. Default: no change. */
    lz_err *(*get_compilation_devices)(void *self, lz_backend_device device, lz_backend_device *devices,
                                       size_t n);
    const char *(*get_computation_backend_text)(void *self, void *computation); /* default: "" */
    /* Devices. The default device is the one that has both the default type and the default ordinal;
     * a backend that answers 0 and 0 but has no device 0 of type 0 means its first device. Setting a type
     * keeps the ordinal where the type has it. Defaults: the library keeps both, at first those of the first
     * device; type 0; the device with the index. lz_backend_set_default calls the setters. */
    int8_t (*get_default_device_type)(void *self);
    lz_err *(*set_default_device_type)(void *self, int8_t type);
    int64_t (*get_default_device_ordinal)(void *self);
    lz_err *(*set_default_device_ordinal)(void *self, int64_t ordinal);
    /* The type of the CPU backend's device on which operators fall back. If the CPU backend has no device of
     * that type, its first device is used. */
    int8_t (*eager_fallback_device_type)(void *self);
    lz_err *(*get_backend_device)(void *self, lz_device virtual_device, lz_backend_device *out);
    const char *(*device_type_name)(void *self, int8_t type); /* default: "Unknown" */
    /* Reports. Defaults: "", none, unknown. The report (lz_metrics_text) lists the metrics by name and
     * value, then the text of create_metric_report, so the text should not repeat the metrics. get_metrics
     * returns the number of metrics, which may exceed `room`; lz_counter_value finds a metric by its name. */
    const char *(*create_metric_report)(void *self);
    size_t (*get_metrics)(void *self, lz_metric_value *out, size_t room);
    lz_err *(*get_memory_info)(void *self, lz_backend_device d, lz_memory_info *out);
    /* Defaults: none. Nothing calls them yet. */
    const lz_async_entries *async;
    const lz_collective_entries *collectives;

    /* Since 1.1. */

    /* Waits until the device has finished all its work, and returns the first failure that has not been
     * reported yet. lz_wait and lz_close call it, and the library does at the end of the process, before
     * prepare_to_exit. Default: work is done when a call returns. See lz_execution. */
    lz_err *(*synchronize)(void *self, lz_backend_device d);
    /* The hardware in the words of its maker, for people: "NVIDIA H200". Default: "". */
    const char *(*device_description)(void *self, lz_backend_device d);
    /* Whether the backend's graphs take the offsets of views of held data as run-time numbers (LZ_ARG_SCALAR,
     * an int): `index` of select.int and select_scatter, `start` and `end` of slice.Tensor and
     * slice_scatter, `storage_offset` of as_strided and as_strided_scatter. Offsets are 0 or greater and
     * within the tensor; lz_node_type gives the sizes of the view. x[t] is then one graph for every t.
     * Otherwise offsets are fixed (LZ_ARG_VALUE), and each offset is a graph of its own. Default: no. */
    bool (*takes_offsets)(void *self);
    /* The bytes that a computation takes until it is released, for the limit on compiled graphs; called
     * once, after compile. Default: 0. */
    size_t (*get_computation_bytes)(void *self, void *computation);

    /* Since 1.2. */

    /* For a backend whose devices are virtual: adds devices after the existing ones until there are at least
     * n. The library calls get_backend_devices again afterwards. Default: an error (LZ_ERR_UNSUPPORTED) if
     * the backend has fewer than n devices. */
    lz_err *(*set_device_count)(void *self, size_t n);
} lz_backend;

/* ---- registration ---- */

/* The table stays the caller's and must live as long as the process. Its name must not be registered yet.
 * *type: the type of its virtual devices. */
LZ_API LZ_MUST_USE lz_err *lz_backend_register(const lz_backend *b, int16_t *type);

/* A shared object exports one function of this name and type. The table that it returns may depend on
 * host_abi, the version of the host. */
#define LZ_BACKEND_SYMBOL "lazuli_backend"
typedef const lz_backend *lz_backend_entry_fn(uint32_t host_abi);

LZ_API LZ_MUST_USE lz_err *lz_backend_load(const char *path, int16_t *type);

/* Registers the backends that come with the library, and loads those that LAZULI_BACKEND names, unless
 * that has been done. lz_open calls it. */
LZ_API LZ_MUST_USE lz_err *lz_backends_ready(void);

/* Makes a device, "npu:1", the default of its backend: the one that "npu" alone means. */
LZ_API LZ_MUST_USE lz_err *lz_backend_set_default(const char *device);
LZ_API LZ_MUST_USE lz_err *lz_backend_default_device(const char *name, lz_device *out);
/* Adds devices to a backend until it has at least n, for the rest of the process. `cpu` can have up to 64;
 * other backends as their set_device_count allows. */
LZ_API LZ_MUST_USE lz_err *lz_backend_set_device_count(const char *name, size_t n);
/* The memory of a device, "cpu:1"; NULL: the context's device. false: the context has the error. */
LZ_API bool lz_get_memory_info(lz_ctx *c, const char *device, lz_memory_info *out);
/* Bytes of the data on that device that tensors of this context hold. Data that several tensors share counts
 * once; tensors that are recorded and not yet computed count 0. -1: the context has the error. */
LZ_API int64_t lz_held_bytes(lz_ctx *c, const char *device);
/* Whether any registered backend has this device. A backend that delegates work to another backend may pass
 * devices of its own; a backend should refuse a device that no backend has. */
LZ_API bool lz_backend_device_exists(lz_backend_device d);

LZ_API bool lz_has_backend(const char *name); /* NULL: any */
/* The table with defaults filled in (copy_data, async and collectives may still be NULL). NULL: no such
 * backend. name NULL: the backend that was registered first. */
LZ_API const lz_backend *lz_get_backend(const char *name);
LZ_API const lz_backend *lz_backend_of(int16_t type);
LZ_API const lz_ir_builder *lz_get_ir_builder(const char *name);
/* The name of the i-th optional entry (NULL: no such i), and whether the backend has that entry: for
 * reports. */
LZ_API const char *lz_backend_entry_name(size_t i);
LZ_API bool lz_backend_has_entry(const lz_backend *b, size_t i);

/* Makes an error; printf's format. */
LZ_API lz_err *lz_error(lz_code code, const char *format, ...) LZ_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
