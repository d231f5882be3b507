// SPDX-License-Identifier: MIT
#include "ops/backends.h"

#include "device/device.h"
#include "ops/ops.h"

static const struct sam_device *find_backend(enum sam_backend backend)
{
    switch (backend) {
    case SAM_BACKEND_REF:  return sam_device_ref();
    case SAM_BACKEND_CPU:  return sam_device_cpu();
    case SAM_BACKEND_CUDA: return sam_device_cuda();
    case SAM_BACKEND_AUTO: break;
    }
    return NULL;
}

static const char *backend_name(enum sam_backend backend)
{
    switch (backend) {
    case SAM_BACKEND_AUTO: return "auto";
    case SAM_BACKEND_REF:  return "ref";
    case SAM_BACKEND_CPU:  return "cpu";
    case SAM_BACKEND_CUDA: return "cuda";
    }
    return "unknown";
}

static int open_one(struct sam_queue *q, enum sam_backend backend,
                    const struct sam_queue_options *o, struct sam_error *error)
{
    const struct sam_device *device = find_backend(backend);
    *q = (struct sam_queue) { 0 };
    if (!device)
        return sam_fail(error, SAM_EUNSUPPORTED, "backend '%s': not in this build",
                        backend_name(backend));
    const int status = sam_queue_start(q, device, o, error);
    if (status || !sam_ops_missing(q->ops))
        return status;
    sam_fail(error, SAM_EUNSUPPORTED, "backend '%s' has no entry for the operation '%s'",
             backend_name(backend), sam_ops_missing(q->ops));
    sam_queue_close(q);
    return SAM_EUNSUPPORTED;
}

static int open_any(struct sam_queue *q, enum sam_backend backend,
                    const struct sam_queue_options *o, struct sam_error *error)
{
    struct sam_error why;
    if (backend != SAM_BACKEND_AUTO)
        return open_one(q, backend, o, error);
    const int status = open_one(q, SAM_BACKEND_CUDA, o, &why);
    if (!status)
        return status;
    // A machine without a GPU is nothing to warn about; one whose GPU does not work is.
    if (o->log)
        sam_log(o->log, status == SAM_EUNSUPPORTED ? SAM_LOG_INFO : SAM_LOG_WARNING,
                "backend 'auto' takes 'cpu': %s", why.text);
    return open_one(q, SAM_BACKEND_CPU, o, error);
}

int sam_queue_open(struct sam_queue *q, enum sam_backend backend, int ordinal,
                   enum sam_precision precision, int threads, const struct sam_log *log,
                   struct sam_error *error)
{
    const struct sam_queue_options o = { .ordinal = ordinal, .precision = precision,
                                         .threads = threads, .log = log };
    return open_any(q, backend, &o, error);
}

static int open_with(struct sam_queue *q, const struct sam_params *params, bool to_plan,
                     size_t work_bytes, struct sam_error *error)
{
    const struct sam_log log = { params->log, params->log_priv };
    const struct sam_queue_options o = {
        .ordinal = params->device, .precision = params->precision, .threads = params->threads,
        .log = &log, .context = params->cuda_context, .stream = params->cuda_stream,
        .work_bytes = work_bytes, .to_plan = to_plan,
    };
    return open_any(q, params->backend, &o, error);
}

int sam_queue_open_for(struct sam_queue *q, const struct sam_params *params, bool to_plan,
                       struct sam_error *error)
{
    return open_with(q, params, to_plan, 0, error);
}

int sam_queue_open_small(struct sam_queue *q, const struct sam_params *params, size_t work_bytes,
                         struct sam_error *error)
{
    return open_with(q, params, false, work_bytes, error);
}
