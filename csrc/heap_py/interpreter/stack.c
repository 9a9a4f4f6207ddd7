/* How many values a running frame has on its stack. A frame that is inside a call of C code does not write it down, but
 * the compiler laid it down: every instruction is reached with one height only, whatever the way to it. */
#define Py_BUILD_CORE 1
#define NEED_OPCODE_TABLES 1
#define NEED_OPCODE_METADATA 1
#include "heap_py/interpreter/interpreter.h"

#if PY_VERSION_HEX >= 0x030e0000
/* From 3.14 on a frame writes its height down before everything that may run other code. */
int gl_stack_height(void* address) {
  gl_frame read;
  return gl_read_frame(address, &read) ? read.stack_count : 0;
}
#else

#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030d0000
#include <internal/pycore_opcode_metadata.h>
#else
#include <internal/pycore_opcode.h>
#endif
#include <opcode.h>

enum { unknown_height = -1, max_passes = 8 };

typedef struct {
  const uint8_t* code; /* pairs of an instruction and its argument */
  int count;
  int16_t* heights; /* before each instruction */
#if PY_VERSION_HEX >= 0x030c0000
  const _PyCoMonitoringData* tools; /* of debuggers and the like; NULL: none is at work */
#endif
} gl_heights;

#if PY_VERSION_HEX >= 0x030c0000
/* What stood where a debugger, a profiler or a coverage tool has put an instruction of its own. */
static int opcode_at(const gl_heights* all, int at) {
  int opcode = all->code[2 * at];
  if (opcode == INSTRUMENTED_LINE && all->tools != NULL && all->tools->lines != NULL)
    opcode = all->tools->lines[at].original_opcode;
  if (opcode == INSTRUMENTED_INSTRUCTION && all->tools != NULL && all->tools->per_instruction_opcodes != NULL)
    opcode = all->tools->per_instruction_opcodes[at];
  switch (opcode) {
#define GL_BASE(name)       \
  case INSTRUMENTED_##name: \
    return name;
    GL_BASE(RESUME)
    GL_BASE(CALL)
    GL_BASE(CALL_FUNCTION_EX)
    GL_BASE(LOAD_SUPER_ATTR)
    GL_BASE(RETURN_VALUE)
    GL_BASE(RETURN_CONST)
    GL_BASE(YIELD_VALUE)
    GL_BASE(FOR_ITER)
    GL_BASE(END_FOR)
    GL_BASE(END_SEND)
    GL_BASE(JUMP_FORWARD)
    GL_BASE(JUMP_BACKWARD)
    GL_BASE(POP_JUMP_IF_FALSE)
    GL_BASE(POP_JUMP_IF_TRUE)
    GL_BASE(POP_JUMP_IF_NONE)
    GL_BASE(POP_JUMP_IF_NOT_NONE)
#if PY_VERSION_HEX >= 0x030d0000
    GL_BASE(CALL_KW)
#endif
#undef GL_BASE
    default:
      return _PyOpcode_Deopt[opcode];
  }
}
#else
static int opcode_at(const gl_heights* all, int at) { return _PyOpcode_Deopt[all->code[2 * at]]; }
#endif

static int is_backward(int opcode) {
  switch (opcode) {
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
#if PY_VERSION_HEX < 0x030c0000
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
      return 1;
    default:
      return 0;
  }
}

static int is_forward(int opcode) {
  switch (opcode) {
    case FOR_ITER:
    case JUMP_FORWARD:
    case SEND:
#if PY_VERSION_HEX < 0x030c0000
    case JUMP_IF_FALSE_OR_POP:
    case JUMP_IF_TRUE_OR_POP:
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
#else
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
#endif
      return 1;
    default:
      return 0;
  }
}

/* Whether the instruction after this one is never reached from it. */
static int is_last(int opcode) {
  switch (opcode) {
    case JUMP_FORWARD:
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
    case RETURN_VALUE:
    case RAISE_VARARGS:
    case RERAISE:
#if PY_VERSION_HEX >= 0x030c0000
    case RETURN_CONST:
#endif
      return 1;
    default:
      return 0;
  }
}

/* 1: a height that was not known before. */
static int note(gl_heights* all, int at, int height) {
  if (at < 0 || at >= all->count || height < 0 || all->heights[at] != unknown_height) return 0;
  all->heights[at] = (int16_t)height;
  return 1;
}

/* One pass in the order of the code; returns how much it found out. */
static int follow(gl_heights* all) {
  int found = 0, argument = 0;
  for (int at = 0; at < all->count; ++at) {
    const int opcode = opcode_at(all, at);
    argument = (argument << 8) | all->code[2 * at + 1];
    const int height = all->heights[at];
    const int next = at + 1 + _PyOpcode_Caches[opcode];
    if (opcode == EXTENDED_ARG) {
      if (height != unknown_height) found += note(all, next, height);
      continue;
    }
    if (height != unknown_height) {
      const int jumps = is_forward(opcode) || is_backward(opcode);
      const int on = PyCompile_OpcodeStackEffectWithJump(opcode, argument, 0);
      const int away = jumps ? PyCompile_OpcodeStackEffectWithJump(opcode, argument, 1) : 0;
      if (on == PY_INVALID_STACK_EFFECT || away == PY_INVALID_STACK_EFFECT) return found;
      if (jumps) found += note(all, is_backward(opcode) ? next - argument : next + argument, height + away);
      if (!is_last(opcode)) found += note(all, next, height + on);
    }
    at = next - 1;
    argument = 0;
  }
  return found;
}

static const uint8_t* read_number(const uint8_t* at, const uint8_t* end, int* number) {
  for (*number = 0; at < end;) {
    const int part = *at++;
    *number = (*number << 6) | (part & 63);
    if ((part & 64) == 0) break;
  }
  return at;
}

/* Where exceptions are handled: the table of the code says with which height. */
static void note_handlers(gl_heights* all, PyCodeObject* code) {
  const uint8_t* at = (const uint8_t*)PyBytes_AS_STRING(code->co_exceptiontable);
  const uint8_t* end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
  while (at < end) {
    int start, size, handler, depth;
    at = read_number(at, end, &start);
    at = read_number(at, end, &size);
    at = read_number(at, end, &handler);
    at = read_number(at, end, &depth);
    note(all, handler, (depth >> 1) + (depth & 1) + 1);
  }
}

/* In 3.11 the compiler takes the arguments off at PRECALL, the interpreter at CALL. */
static int arguments_still_there(const gl_heights* all, int at) {
#if PY_VERSION_HEX < 0x030c0000
  if (opcode_at(all, at) == CALL) return all->code[2 * at + 1];
#endif
  (void)all, (void)at;
  return 0;
}

int gl_stack_height(void* address) {
  _PyInterpreterFrame* frame = address;
  gl_frame read;
  if (!gl_read_frame(frame, &read)) return 0;
  if (read.stack_count > 0 || frame->stacktop >= read.code->co_nlocalsplus || _PyFrame_IsIncomplete(frame))
    return read.stack_count;
  const int at = _PyInterpreterFrame_LASTI(frame);
  gl_heights all = {.code = (const uint8_t*)_PyCode_CODE(read.code), .count = (int)Py_SIZE(read.code)};
  if (at < 0 || at >= all.count) return 0;
  all.heights = PyMem_RawMalloc((size_t)all.count * sizeof *all.heights);
  if (all.heights == NULL) return 0;
  for (int i = 0; i < all.count; ++i) all.heights[i] = unknown_height;
#if PY_VERSION_HEX >= 0x030c0000
  all.tools = read.code->_co_monitoring;
  all.heights[0] = 0;
#else
  all.heights[0] = (read.code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0; /* what is sent */
#endif
  note_handlers(&all, read.code);
  for (int pass = 0; pass < max_passes && follow(&all) > 0; ++pass);
  const int height = all.heights[at] == unknown_height ? 0 : all.heights[at] + arguments_still_there(&all, at);
  PyMem_RawFree(all.heights);
  return height > 0 && height <= read.code->co_stacksize ? height : 0;
}
#endif
