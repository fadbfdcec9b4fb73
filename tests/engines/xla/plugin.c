// A PJRT plugin for tests. It checks what it is given (struct sizes, handles, order, donation), counts what is alive, fails
// on demand, and computes through XLA's CPU client in a Python process (`backend.py`); without one, results are zeros.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The structs as the interface declares them, version 0.114.
typedef struct { size_t struct_size; void *extension; } Head;
typedef struct { Head head; int32_t major, minor; } Version;
typedef struct { size_t struct_size; void *extension; Version version; void *functions[200]; } Api;
typedef struct { Head head; void *object; const char *text; size_t size; } TextArgs;
typedef struct { Head head; void *error; int32_t code; } CodeArgs;
typedef struct { Head head; void *object; } ObjectArgs;
typedef struct { Head head; void *object; void *result; } ResultArgs;
typedef struct {
  Head head; const char *name; size_t name_size; int32_t type; union { const char *text; int64_t number; bool flag; }; size_t value_size;
} NamedValue;
typedef struct {
  Head head; const NamedValue *options; size_t count; void *get, *get_arg, *put, *put_arg; void *client; void *try_get, *try_get_arg;
} CreateArgs;
typedef struct { Head head; void *client; void *const *devices; size_t count; } DevicesArgs;
typedef struct { Head head; char *code; size_t code_size; const char *format; size_t format_size; } Code;
typedef struct { Head head; void *client; const Code *program; const char *options; size_t options_size; void *executable; } CompileArgs;
typedef struct {
  Head head; void *client; const void *data; int32_t type; const int64_t *dims; size_t rank; const int64_t *strides;
  size_t stride_count; int32_t semantics; void *device, *memory, *layout; void *done, *buffer;
} PutArgs;
typedef struct { Head head; void *source; void *layout; void *target; size_t size; void *event; } ReadArgs;
typedef struct {
  Head head; void *send, *receive; size_t sends, receives; int launch; const int64_t *kept; size_t kept_count; void *rest[8];
} ExecuteOptions;
typedef struct {
  Head head; void *executable; ExecuteOptions *options; void *const *const *args; size_t devices, arg_count; void **const *outputs;
  void **events; void *device;
} ExecuteArgs;
typedef struct { Head head; void *executable; size_t count; } CountArgs;
typedef struct { Head head; void *executable; const char *bytes; size_t size; void *owner; void (*release)(void *); } SerializeArgs;
typedef struct { Head head; void *client; const char *bytes; size_t size; void *loaded; const char *options; size_t options_size; void *load; } LoadArgs;
typedef struct { Head head; void *device; int64_t in_use, peak; bool peak_set; int64_t rest[16]; } MemoryArgs;

typedef struct { Head head; void *executable; int64_t sizes[15]; } CompiledMemoryArgs;
typedef struct { Head head; void *client; char *data; size_t size; } MapArgs;
typedef struct { Head head; void *client; char *data; } UnmapArgs;

enum Kind { CLIENT, DEVICE, BUFFER, PROGRAM, EXECUTABLE, EVENT, ERROR, MAPPING, KINDS };
static const char *KIND_NAMES[] = {"client", "device", "buffer", "program", "executable", "event", "error", "mapping"};
typedef struct { uint64_t magic; enum Kind kind; } Object;
// `reads`: transfers from there that have not happened.
typedef struct { Object object; char *data; size_t size; int64_t reads; } Mapping;
// `source`: where its numbers are, until its transfer is needed, and `from` the mapping that it lies in.
typedef struct Event Event;
typedef struct {
  Object object; int32_t type; size_t rank; int64_t dims[16]; size_t bytes; char *data; bool donated; void *device; const char *source; Mapping *from; Event *transfer;
} Buffer;
struct Event { Object object; Buffer *transfer; };
typedef struct { Object object; int32_t type; size_t rank; int64_t dims[16]; } Result;
typedef struct {
  Object object; char *text; uint64_t id; size_t outputs; Result *results; size_t args; int64_t *alias; size_t devices;
} Program;
typedef struct { Object object; Program *program; } Executable;
typedef struct { Object object; char *text; int32_t code; } Error;

#define MAGIC 0x68006f006b00ull
static int64_t live[KINDS];
static int64_t bytes_alive, bytes_peak;
static char fail_name[64], fail_text[8192];
static int32_t fail_code;
static FILE *to_backend, *from_backend;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *make(enum Kind kind, size_t size) {
  Object *object = calloc(1, size);
  object->magic = MAGIC;
  object->kind = kind;
  __atomic_add_fetch(&live[kind], 1, __ATOMIC_SEQ_CST);
  return object;
}
static void drop(void *object) {
  __atomic_sub_fetch(&live[((Object *)object)->kind], 1, __ATOMIC_SEQ_CST);
  ((Object *)object)->magic = 0;
  free(object);
}
static void *fail(int32_t code, const char *format, ...) {
  Error *error = make(ERROR, sizeof(Error));
  va_list list;
  va_start(list, format);
  if (vasprintf(&error->text, format, list) < 0) abort();
  va_end(list);
  error->code = code;
  return error;
}
// For tests: what is alive, how often a function was called, and an error for its next call.
static const char *called_names[64];
static int64_t called[64];
static void count_call(const char *name) {
  for (size_t i = 0; i < 64; i++) {
    if (!called_names[i]) called_names[i] = name;
    if (!strcmp(called_names[i], name)) { called[i]++; return; }
  }
}
int64_t MockCalls(const char *name) {
  for (size_t i = 0; i < 64 && called_names[i]; i++) if (!strcmp(called_names[i], name)) return called[i];
  return 0;
}
int64_t MockLive(int kind) { return live[kind]; }
void MockFail(const char *name, int code, const char *text) {
  snprintf(fail_name, sizeof fail_name, "%s", name);
  snprintf(fail_text, sizeof fail_text, "%s", text);
  fail_code = code;
}

#define CHECK_STRUCT(name, args) \
  if ((args)->head.struct_size < sizeof(*(args))) return fail(3, "PJRT_%s: struct of %zu bytes, expected %zu", name, (args)->head.struct_size, sizeof(*(args))); \
  if ((args)->head.extension) return fail(3, "PJRT_%s: unknown extension", name); \
  count_call(name); \
  if (!strcmp(fail_name, name)) { fail_name[0] = 0; return fail(fail_code, "%s", fail_text); }
#define CHECK_OBJECT(name, pointer, wanted) \
  if (!(pointer) || ((Object *)(pointer))->magic != MAGIC || ((Object *)(pointer))->kind != (wanted)) return fail(3, "PJRT_%s: not a %s", name, KIND_NAMES[wanted]);

static size_t size_of(int32_t type, size_t rank, const int64_t *dims) {
  size_t size = type == 1 ? 1 : type == 13 ? 2 : 4;
  for (size_t i = 0; i < rank; i++) size *= dims[i];
  return size;
}
static Buffer *new_buffer(int32_t type, size_t rank, const int64_t *dims) {
  Buffer *buffer = make(BUFFER, sizeof(Buffer));
  buffer->type = type;
  buffer->rank = rank;
  if (rank) memcpy(buffer->dims, dims, rank * 8);
  buffer->bytes = size_of(type, rank, dims);
  buffer->data = calloc(1, buffer->bytes + 1);
  bytes_alive += buffer->bytes;
  if (bytes_alive > bytes_peak) bytes_peak = bytes_alive;
  return buffer;
}

static void *ErrorDestroy(ObjectArgs *args) { Error *error = args->object; free(error->text); drop(error); return NULL; }
static void *ErrorMessage(TextArgs *args) { Error *error = args->object; args->text = error->text; args->size = strlen(error->text); return NULL; }
static void *ErrorCode(CodeArgs *args) { args->code = ((Error *)args->error)->code; return NULL; }
static void *Initialize(ObjectArgs *args) { (void)args; return NULL; }
// A transfer from mapped memory happens as late as it may: who writes there before its event loses the numbers.
static void forget_source(Buffer *buffer) {
  if (buffer->source && buffer->from) buffer->from->reads--;
  buffer->source = NULL;
}
static void arrive(Buffer *buffer) {
  if (!buffer->source) return;
  memcpy(buffer->data, buffer->source, buffer->bytes);
  forget_source(buffer);
}
static void *EventDestroy(ObjectArgs *args) {
  CHECK_STRUCT("Event_Destroy", args) CHECK_OBJECT("Event_Destroy", args->object, EVENT)
  Event *event = args->object;
  if (event->transfer) event->transfer->transfer = NULL;
  drop(event);
  return NULL;
}
static void *EventAwait(ObjectArgs *args) {
  CHECK_STRUCT("Event_Await", args) CHECK_OBJECT("Event_Await", args->object, EVENT)
  Event *event = args->object;
  if (event->transfer) arrive(event->transfer);
  return NULL;
}
#define MOST_MAPPINGS 1024
static Mapping *mappings[MOST_MAPPINGS];
static Mapping **mapping_of(const char *data, size_t size) {
  for (size_t i = 0; i < MOST_MAPPINGS; i++) {
    if (mappings[i] && data >= mappings[i]->data && data + size <= mappings[i]->data + mappings[i]->size) return &mappings[i];
  }
  return NULL;
}
static void *Map(MapArgs *args) {
  CHECK_STRUCT("Client_DmaMap", args) CHECK_OBJECT("Client_DmaMap", args->client, CLIENT)
  const uintptr_t page = 4096;
  Mapping **place = NULL;
  for (size_t i = 0; i < MOST_MAPPINGS; i++) {
    if (!mappings[i]) { place = &mappings[i]; continue; }
    uintptr_t first = (uintptr_t)mappings[i]->data / page, last = ((uintptr_t)mappings[i]->data + mappings[i]->size - 1) / page;
    if ((uintptr_t)args->data / page <= last && ((uintptr_t)args->data + args->size - 1) / page >= first) return fail(6, "a page is mapped twice");
  }
  if (!place) return fail(8, "too many mappings");
  *place = make(MAPPING, sizeof(Mapping));
  (*place)->data = args->data;
  (*place)->size = args->size;
  return NULL;
}
static void *Unmap(UnmapArgs *args) {
  CHECK_STRUCT("Client_DmaUnmap", args) CHECK_OBJECT("Client_DmaUnmap", args->client, CLIENT)
  Mapping **place = mapping_of(args->data, 1);
  if (!place) return fail(3, "memory that is not mapped");
  if ((*place)->reads) return fail(9, "unmapped while %ld transfers read it", (long)(*place)->reads);
  drop(*place);
  *place = NULL;
  return NULL;
}

#define MOST_DEVICES 8
static Object device_objects[MOST_DEVICES];
static void *devices[MOST_DEVICES];
static size_t device_count(void) {
  const char *given = getenv("HOOKLINE_TEST_PJRT_DEVICES");
  return given ? strtoul(given, NULL, 10) : 1;
}

static void start_backend(void) {
  const char *command = getenv("HOOKLINE_TEST_PJRT_BACKEND");
  if (!command || to_backend) return;
  int down[2], up[2];
  if (pipe(down) || pipe(up)) abort();
  if (fork() == 0) {
    dup2(down[0], 0);
    dup2(up[1], 1);
    for (int i = 3; i < 256; i++) close(i);
    execl("/bin/sh", "sh", "-c", command, NULL);
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  to_backend = fdopen(down[1], "wb");
  from_backend = fdopen(up[0], "rb");
}
static void *Create(CreateArgs *args) {
  CHECK_STRUCT("Client_Create", args)
  for (size_t i = 0; i < args->count; i++) {
    if (args->options[i].head.struct_size != sizeof(NamedValue)) return fail(3, "PJRT_NamedValue %zu: wrong size", i);
  }
  for (size_t i = 0; i < MOST_DEVICES; i++) { device_objects[i] = (Object){MAGIC, DEVICE}; devices[i] = &device_objects[i]; }
  start_backend();
  args->client = make(CLIENT, sizeof(Object));
  return NULL;
}
static void *Destroy(ObjectArgs *args) {
  CHECK_STRUCT("Client_Destroy", args) CHECK_OBJECT("Client_Destroy", args->object, CLIENT)
  // What is alive may belong to another client, as long as there is one.
  if (live[CLIENT] == 1 && (live[BUFFER] || live[PROGRAM])) return fail(9, "client destroyed with %ld buffers and %ld programs alive", (long)live[BUFFER], (long)live[PROGRAM]);
  drop(args->object);
  return NULL;
}
static void *text_result(TextArgs *args, const char *text) { args->text = text; args->size = strlen(text); return NULL; }
static void *PlatformName(TextArgs *args) { CHECK_STRUCT("Client_PlatformName", args) return text_result(args, "mock"); }
static void *PlatformVersion(TextArgs *args) { CHECK_STRUCT("Client_PlatformVersion", args) return text_result(args, "1"); }
static void *Devices(DevicesArgs *args) { CHECK_STRUCT("Client_AddressableDevices", args) args->devices = devices; args->count = device_count(); return NULL; }
static void *Description(ResultArgs *args) { CHECK_STRUCT("Device_GetDescription", args) CHECK_OBJECT("Device_GetDescription", args->object, DEVICE) args->result = args->object; return NULL; }
static void *DeviceKind(TextArgs *args) { CHECK_STRUCT("DeviceDescription_Kind", args) return text_result(args, "Mock device"); }
static void *Memory(MemoryArgs *args) { CHECK_STRUCT("Device_MemoryStats", args) args->in_use = bytes_alive; args->peak = bytes_peak; args->peak_set = true; return NULL; }

static int32_t type_named(const char *name) {
  return !strncmp(name, "i1", 2) && name[2] != '6' ? 1 : !strncmp(name, "i32", 3) ? 4 : !strncmp(name, "ui32", 4) ? 8 : !strncmp(name, "f32", 3) ? 11 : 0;
}
/** Reads `tensor<2x3xf32>`; returns what stands behind it. */
static const char *read_type(const char *at, Result *result) {
  if (strncmp(at, "tensor<", 7)) return NULL;
  at += 7;
  while (*at >= '0' && *at <= '9') { result->dims[result->rank++] = strtoll(at, (char **)&at, 10); at++; }
  result->type = type_named(at);
  at = strchr(at, '>');
  return result->type && at ? at + 1 : NULL;
}
/** Skips the attributes behind a type: a number for its alias, and its sharding. */
static const char *read_attributes(const char *at, int64_t *alias, bool *divided) {
  if (strncmp(at, " {", 2)) return at;
  at += 2;
  if (!strncmp(at, "tf.aliasing_output = ", 21)) { *alias = atoi(at + 21); at += strcspn(at, ",}"); if (*at == ',') at += 2; }
  if (!strncmp(at, "sdy.sharding = ", 15)) { *divided = !!strstr(at, "[{\"rows\"}") && strstr(at, "[{\"rows\"}") < strchr(at, '>'); at = strchr(at, '>') + 1; }
  return *at == '}' ? at + 1 : NULL;
}
static void *read_signature(Program *program) {
  const char *mesh = strstr(program->text, "sdy.mesh @devices = <[\"rows\"=");
  program->devices = mesh ? strtoul(mesh + 29, NULL, 10) : 1;
  const char *at = strstr(program->text, "@main(");
  if (!at) return fail(3, "no function @main");
  const char *arrow = strstr(at, ") -> (");
  if (!arrow) return fail(3, "no result types");
  program->alias = calloc(1, 8 * 4096);
  for (at += 6; at < arrow && *at == '%'; program->args++) {
    Result ignored = {0};
    at = read_type(strchr(at, ' ') + 1, &ignored);
    if (!at) return fail(3, "argument %zu has no type that is known", program->args);
    program->alias[program->args] = -1;
    bool divided = false;
    at = read_attributes(at, &program->alias[program->args], &divided);
    if (!at) return fail(3, "argument %zu has attributes that are not known", program->args);
    if (*at == ',') at += 2;
  }
  program->results = calloc(4096, sizeof(Result));
  for (at = arrow + 6; *at != ')';) {
    Result *result = &program->results[program->outputs++];
    at = read_type(at, result);
    int64_t ignored = -1;
    bool divided = false;
    if (at) at = read_attributes(at, &ignored, &divided);
    if (divided) result->dims[0] /= program->devices;
    if (!at) return fail(3, "result %zu has no type that is known", program->outputs);
    if (*at == ',') at += 2;
  }
  return NULL;
}
static void send_number(uint64_t number) { fwrite(&number, 8, 1, to_backend); }
static uint64_t receive_number(void) { uint64_t number = 0; if (fread(&number, 8, 1, from_backend) != 1) return UINT64_MAX; return number; }
static void *receive_error(const char *what) {
  uint64_t size = receive_number();
  if (size == 0) return NULL;
  if (size == UINT64_MAX) return fail(13, "%s: the backend has ended", what);
  char *text = calloc(1, size + 1);
  if (fread(text, 1, size, from_backend) != size) text[0] = 0;
  void *error = fail(3, "%s", text);
  free(text);
  return error;
}
static void release_program(Program *program) { free(program->text); free(program->results); free(program->alias); drop(program); }
// From what was serialized if there is something, else from the text.
static void *make_program(const char *text, size_t size, const char *serialized, size_t serialized_size, void **result) {
  Program *program = make(PROGRAM, sizeof(Program));
  program->text = strndup(text, size);
  void *error = read_signature(program);
  if (!error && to_backend) {
    pthread_mutex_lock(&lock);
    send_number(serialized_size ? 'L' : 'C');
    send_number(size);
    fwrite(text, 1, size, to_backend);
    if (serialized_size) { send_number(serialized_size); fwrite(serialized, 1, serialized_size, to_backend); }
    fflush(to_backend);
    error = receive_error(serialized_size ? "load" : "compile");
    if (!error) program->id = receive_number();
    pthread_mutex_unlock(&lock);
  }
  if (error) { release_program(program); return error; }
  *result = program;
  return NULL;
}
static void *Compile(CompileArgs *args) {
  CHECK_STRUCT("Client_Compile", args) CHECK_OBJECT("Client_Compile", args->client, CLIENT)
  CHECK_STRUCT("Program", args->program)
  if (args->program->format_size != 4 || memcmp(args->program->format, "mlir", 4)) return fail(3, "format is not mlir");
  if (args->options_size == 0) return fail(3, "no compile options");
  return make_program(args->program->code, args->program->code_size, NULL, 0, &args->executable);
}
static void *GetExecutable(ResultArgs *args) {
  CHECK_STRUCT("LoadedExecutable_GetExecutable", args) CHECK_OBJECT("LoadedExecutable_GetExecutable", args->object, PROGRAM)
  Executable *executable = make(EXECUTABLE, sizeof(Executable));
  executable->program = args->object;
  args->result = executable;
  return NULL;
}
static void *ExecutableDestroy(ObjectArgs *args) { CHECK_STRUCT("Executable_Destroy", args) CHECK_OBJECT("Executable_Destroy", args->object, EXECUTABLE) drop(args->object); return NULL; }
static void *ProgramDestroy(ObjectArgs *args) { CHECK_STRUCT("LoadedExecutable_Destroy", args) CHECK_OBJECT("LoadedExecutable_Destroy", args->object, PROGRAM) release_program(args->object); return NULL; }
static void *NumOutputs(CountArgs *args) { CHECK_STRUCT("Executable_NumOutputs", args) CHECK_OBJECT("Executable_NumOutputs", args->executable, EXECUTABLE) args->count = ((Executable *)args->executable)->program->outputs; return NULL; }
static void release_bytes(void *bytes) { free(bytes); }
// A serialized program: the size of its text, the text, and XLA's own bytes if there is a backend.
// Sizes that a test can recognise.
static void *CompiledMemory(CompiledMemoryArgs *args) {
  CHECK_STRUCT("Executable_GetCompiledMemoryStats", args) CHECK_OBJECT("Executable_GetCompiledMemoryStats", args->executable, EXECUTABLE)
  args->sizes[1] = 3 << 20; args->sizes[2] = 2 << 20; args->sizes[3] = 1 << 20; args->sizes[4] = 7ll << 30;
  return NULL;
}
static void *Serialize(SerializeArgs *args) {
  CHECK_STRUCT("Executable_Serialize", args) CHECK_OBJECT("Executable_Serialize", args->executable, EXECUTABLE)
  Program *program = ((Executable *)args->executable)->program;
  uint64_t text_size = strlen(program->text), size = 0;
  void *error = NULL;
  pthread_mutex_lock(&lock);
  if (to_backend) {
    send_number('S');
    send_number(program->id);
    fflush(to_backend);
    error = receive_error("serialize");
    if (!error) size = receive_number();
  }
  if (!error) {
    char *bytes = malloc(8 + text_size + size);
    memcpy(bytes, &text_size, 8);
    memcpy(bytes + 8, program->text, text_size);
    if (size && fread(bytes + 8 + text_size, 1, size, from_backend) != size) error = fail(13, "the backend has ended");
    args->owner = bytes;
    args->bytes = bytes;
    args->size = 8 + text_size + size;
    args->release = release_bytes;
  }
  pthread_mutex_unlock(&lock);
  return error;
}
static void *Load(LoadArgs *args) {
  CHECK_STRUCT("Executable_DeserializeAndLoad", args) CHECK_OBJECT("Executable_DeserializeAndLoad", args->client, CLIENT)
  uint64_t text_size = 0;
  if (args->size > 8) memcpy(&text_size, args->bytes, 8);
  if (!text_size || text_size > args->size - 8) return fail(3, "not a serialized program");
  return make_program(args->bytes + 8, text_size, args->bytes + 8 + text_size, args->size - 8 - text_size, &args->loaded);
}

static void *Put(PutArgs *args) {
  CHECK_STRUCT("Client_BufferFromHostBuffer", args) CHECK_OBJECT("Client_BufferFromHostBuffer", args->client, CLIENT)
  CHECK_OBJECT("Client_BufferFromHostBuffer", args->device, DEVICE)
  if (args->semantics > 1 || args->stride_count || args->memory || args->layout) return fail(3, "fields that should be 0 are not");
  size_t bytes = size_of(args->type, args->rank, args->dims);
  Mapping **mapping = args->semantics == 1 ? mapping_of(args->data, bytes) : NULL;
  if (args->semantics == 1 && !mapping) return fail(3, "a transfer that lasts, from memory that is not mapped");
  Buffer *buffer = new_buffer(args->type, args->rank, args->dims);
  Event *event = make(EVENT, sizeof(Event));
  buffer->source = args->data;
  buffer->transfer = event;
  event->transfer = buffer;
  if (mapping) {
    buffer->from = *mapping;
    buffer->from->reads++;
  }
  if (args->semantics == 0) arrive(buffer);
  buffer->device = args->device;
  args->buffer = buffer;
  args->done = event;
  return NULL;
}
static void *BufferDestroy(ObjectArgs *args) {
  CHECK_STRUCT("Buffer_Destroy", args) CHECK_OBJECT("Buffer_Destroy", args->object, BUFFER)
  Buffer *buffer = args->object;
  if (!buffer->donated) bytes_alive -= buffer->bytes;
  forget_source(buffer);
  if (buffer->transfer) buffer->transfer->transfer = NULL;
  free(buffer->data);
  drop(buffer);
  return NULL;
}
static void *Read(ReadArgs *args) {
  CHECK_STRUCT("Buffer_ToHostBuffer", args) CHECK_OBJECT("Buffer_ToHostBuffer", args->source, BUFFER)
  Buffer *buffer = args->source;
  if (buffer->donated) return fail(3, "a donated buffer was read");
  if (args->size < buffer->bytes) return fail(3, "room for %zu bytes, but there are %zu", args->size, buffer->bytes);
  arrive(buffer);
  memcpy(args->target, buffer->data, buffer->bytes);
  args->event = make(EVENT, sizeof(Event));
  return NULL;
}
static void *Execute(ExecuteArgs *args) {
  CHECK_STRUCT("LoadedExecutable_Execute", args) CHECK_OBJECT("LoadedExecutable_Execute", args->executable, PROGRAM)
  CHECK_STRUCT("ExecuteOptions", args->options)
  Program *program = args->executable;
  if (args->devices != program->devices) return fail(3, "%zu devices, but the program is for %zu", args->devices, program->devices);
  if (args->arg_count != program->args) return fail(3, "%zu arguments, expected %zu", args->arg_count, program->args);
  for (size_t d = 0; d < args->devices; d++) {
    for (size_t i = 0; i < args->arg_count; i++) {
      Buffer *buffer = args->args[d][i];
      CHECK_OBJECT("LoadedExecutable_Execute", buffer, BUFFER)
      if (buffer->donated) return fail(3, "argument %zu was donated before", i);
      if (buffer->device != devices[d]) return fail(3, "argument %zu for device %zu is on another", i, d);
      arrive(buffer);
    }
    for (size_t i = 0; i < program->outputs; i++) {
      Buffer *buffer = new_buffer(program->results[i].type, program->results[i].rank, program->results[i].dims);
      buffer->device = devices[d];
      args->outputs[d][i] = buffer;
    }
  }
  void *error = NULL;
  if (to_backend) {
    pthread_mutex_lock(&lock);
    send_number('X');
    send_number(program->id);
    send_number(args->arg_count);
    for (size_t i = 0; i < args->arg_count * args->devices; i++) {
      Buffer *buffer = args->args[i % args->devices][i / args->devices];
      send_number(buffer->type);
      send_number(buffer->rank);
      fwrite(buffer->dims, 8, buffer->rank, to_backend);
      fwrite(buffer->data, 1, buffer->bytes, to_backend);
    }
    fflush(to_backend);
    error = receive_error("execute");
    for (size_t i = 0; !error && i < program->outputs * args->devices; i++) {
      Buffer *buffer = args->outputs[i % args->devices][i / args->devices];
      uint64_t size = receive_number();
      if (size != buffer->bytes) error = fail(13, "result %zu has %lu bytes, expected %zu", i, (unsigned long)size, buffer->bytes);
      else if (fread(buffer->data, 1, size, from_backend) != size) error = fail(13, "the backend has ended");
    }
    pthread_mutex_unlock(&lock);
  }
  for (size_t i = 0; !error && i < args->arg_count; i++) {
    bool kept = program->alias[i] < 0;
    for (size_t k = 0; k < args->options->kept_count; k++) kept = kept || args->options->kept[k] == (int64_t)i;
    for (size_t d = 0; !kept && d < args->devices; d++) {
      Buffer *buffer = args->args[d][i];
      if (buffer->donated) error = fail(3, "argument %zu was donated twice", i);
      buffer->donated = true;
      bytes_alive -= buffer->bytes;
    }
  }
  return error;
}

Api *GetPjrtApi(void) {
  static Api api;
  api.struct_size = 1144;
  api.version = (Version){{24, NULL}, 0, 114};
  // Offsets from the start of the table.
#define AT(offset, function) *(void **)((char *)&api + (offset)) = (void *)(function);
  AT(40, ErrorDestroy) AT(48, ErrorMessage) AT(56, ErrorCode) AT(64, Initialize) AT(80, EventDestroy) AT(104, EventAwait)
  AT(120, Create) AT(128, Destroy) AT(136, PlatformName) AT(152, PlatformVersion) AT(168, Devices) AT(200, Compile) AT(216, Put)
  AT(248, DeviceKind) AT(272, Description) AT(312, Memory) AT(360, ExecutableDestroy) AT(392, NumOutputs) AT(432, Serialize)
  AT(440, ProgramDestroy) AT(448, GetExecutable) AT(808, CompiledMemory) AT(920, Map) AT(928, Unmap) AT(480, Execute) AT(488, Load) AT(504, BufferDestroy) AT(600, Read)
  return &api;
}
