/*
 * CRC-32C of a Uint8Array for Node.js: three streams at a time, since the processor's instruction
 * takes three cycles to answer and can begin one in each. Needs nothing but the processor and
 * Node-API, whose binary interface is stable: no headers, no C library.
 */
#include <cpuid.h>
#include <nmmintrin.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Env *Env;
typedef struct Value *Value;
typedef struct CallbackInfo *CallbackInfo;
typedef Value (*Callback)(Env, CallbackInfo);

enum { OK = 0, UINT8_ARRAY = 1 };

extern int napi_get_cb_info(Env, CallbackInfo, size_t *count, Value *arguments, Value *self, void **data);
extern int napi_get_typedarray_info(Env, Value, int *type, size_t *length, void **bytes, Value *buffer, size_t *offset);
extern int napi_get_value_uint32(Env, Value, uint32_t *);
extern int napi_create_uint32(Env, uint32_t, Value *);
extern int napi_create_function(Env, const char *name, size_t length, Callback, void *data, Value *);
extern int napi_set_named_property(Env, Value, const char *name, Value);
extern int napi_throw_type_error(Env, const char *code, const char *message);

#define WITH_CRC32 __attribute__((target("sse4.2")))

/* Bytes of one stream before the three are put together. */
enum { BLOCK = 4096 };

/*
 * What a register becomes over BLOCK zero bytes: the sum of what becomes of each of its four bytes.
 */
static uint32_t over_block[4][256];

static uint64_t word_at(const uint8_t *bytes) {
  uint64_t word;
  __builtin_memcpy(&word, bytes, sizeof word);
  return word;
}

WITH_CRC32 static uint32_t one_stream(uint32_t from, const uint8_t *bytes, size_t length) {
  uint64_t crc = from;
  for (; length >= 8; length -= 8, bytes += 8) crc = _mm_crc32_u64(crc, word_at(bytes));
  for (; length > 0; length--) crc = _mm_crc32_u8((uint32_t)crc, *bytes++);
  return (uint32_t)crc;
}

static uint64_t skip_block(uint64_t crc) {
  return over_block[0][crc & 255] ^ over_block[1][crc >> 8 & 255] ^ over_block[2][crc >> 16 & 255] ^ over_block[3][crc >> 24 & 255];
}

WITH_CRC32 static uint32_t three_streams(uint32_t from, const uint8_t *bytes, size_t length) {
  uint64_t first = from;
  for (; length >= 3 * BLOCK; length -= 3 * BLOCK, bytes += 3 * BLOCK) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (const uint8_t *at = bytes, *end = bytes + BLOCK; at < end; at += 8) {
      first = _mm_crc32_u64(first, word_at(at));
      second = _mm_crc32_u64(second, word_at(at + BLOCK));
      third = _mm_crc32_u64(third, word_at(at + 2 * BLOCK));
    }
    first = skip_block(skip_block(first) ^ second) ^ third;
  }
  return one_stream((uint32_t)first, bytes, length);
}

static int has_instruction(void) {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & bit_SSE4_2;
}

/* Once for all threads, while the file is loaded. */
__attribute__((constructor)) static void fill_table(void) {
  static const uint8_t zeros[BLOCK];
  if (!has_instruction()) return;
  for (int bit = 0; bit < 32; bit++) {
    const uint32_t image = one_stream((uint32_t)1 << bit, zeros, BLOCK);
    for (int byte = 0; byte < 256; byte++)
      if (byte >> bit % 8 & 1) over_block[bit / 8][byte] ^= image;
  }
}

static Value crc32c(Env env, CallbackInfo info) {
  Value arguments[2];
  Value result = NULL;
  size_t count = 2;
  size_t length;
  uint32_t previous;
  void *bytes;
  int type;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != OK) return NULL;
  if (count < 2 || napi_get_typedarray_info(env, arguments[0], &type, &length, &bytes, NULL, NULL) != OK || type != UINT8_ARRAY ||
      napi_get_value_uint32(env, arguments[1], &previous) != OK) {
    napi_throw_type_error(env, NULL, "crc32c takes a Uint8Array and the checksum of what comes before it");
    return NULL;
  }
  napi_create_uint32(env, ~three_streams(~previous, bytes, length), &result);
  return result;
}

/* A processor without the instruction gets an empty object. */
__attribute__((visibility("default"))) Value napi_register_module_v1(Env env, Value exports) {
  Value function;
  if (has_instruction() && napi_create_function(env, "crc32c", 6, crc32c, NULL, &function) == OK)
    napi_set_named_property(env, exports, "crc32c", function);
  return exports;
}
