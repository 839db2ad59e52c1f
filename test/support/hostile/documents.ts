import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { writeZip } from '../zip-writer.ts';
import type { Attack } from './attack.ts';

const MIB = 1024 * 1024;

/** `count` members between two ends, without holding more than one piece of the text. */
function members(count: number, [first, last]: readonly [string, string], make: (index: number) => string): string {
  return `${first}${Array.from({ length: count }, (_, index) => make(index)).join(',')}${last}`;
}

function safetensors(header: string | Buffer, data = 0): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(header)));
  return Buffer.concat([length, Buffer.from(header), Buffer.alloc(data)]);
}

function folder(path: string, files: Readonly<Record<string, string | Buffer>>): void {
  mkdirSync(path);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
}

const TENSOR = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}';

export const SAFETENSORS_ATTACKS: readonly Attack[] = [
  {
    name: 'a header of 2^64 - 1 bytes',
    write: (path) => writeFileSync(path, Buffer.concat([Buffer.alloc(8, 0xff), Buffer.from('{"a":1}')])),
    exit: 1,
    codes: ['SAFETENSORS_HEADER_LENGTH'],
  },
  {
    name: 'a header of a hundred megabytes',
    write(path) {
      const file = openSync(path, 'w');
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(100_000_000n);
      writeSync(file, length);
      writeSync(file, Buffer.from('{'), 0, 1, 8);
      for (let at = 9; at < 100_000_008; at += 10_000_000)
        writeSync(file, Buffer.alloc(Math.min(10_000_000, 100_000_008 - at), ' '), 0, null, at);
      closeSync(file);
    },
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'a header nested a million deep',
    write: (path) => writeFileSync(path, safetensors(`{"a":{"dtype":${'['.repeat(1_000_000)}`)),
    exit: 1,
    codes: ['SAFETENSORS_HEADER_INVALID'],
  },
  {
    name: 'values nested deep in a tensor',
    write: (path) => writeFileSync(path, safetensors(`{"a":{"x":${'['.repeat(1_000_000)}`)),
    exit: 1,
    codes: ['SAFETENSORS_HEADER_INVALID'],
  },
  {
    name: 'one name three hundred thousand times',
    write: (path) => writeFileSync(path, safetensors(members(300_000, ['{', '}'], () => `"a":${TENSOR}`))),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'three hundred thousand tensors',
    write: (path) => writeFileSync(path, safetensors(members(300_000, ['{', '}'], (i) => `"${i}":${TENSOR}`))),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'sixty thousand tensors with long names',
    write: (path) =>
      writeFileSync(
        path,
        safetensors(members(60_000, ['{', '}'], (i) => `"${String(i).padEnd(100, '\u3042')}":${TENSOR}`).slice(0, 31 * MIB)),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'metadata of six hundred thousand keys',
    write: (path) => writeFileSync(path, safetensors(members(600_000, ['{"__metadata__":{', '}}'], (i) => `"${i}":""`))),
    exit: 1,
    codes: [],
  },
  {
    name: 'shapes of 2^64',
    write: (path) =>
      writeFileSync(
        path,
        safetensors('{"a":{"dtype":"F32","shape":[18446744073709551615,18446744073709551615],"data_offsets":[0,18446744073709551615]}}'),
      ),
    exit: 1,
    codes: ['SAFETENSORS_TRUNCATED'],
  },
];

function trainerState(path: string, text: string): void {
  folder(path, { 'trainer_state.json': text });
}

export const JSON_ATTACKS: readonly Attack[] = [
  {
    name: 'a trainer state of three hundred megabytes',
    write(path) {
      mkdirSync(path);
      const file = openSync(join(path, 'trainer_state.json'), 'w');
      for (let i = 0; i < 30; i++) writeSync(file, Buffer.alloc(10_000_000, ' '));
      closeSync(file);
    },
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'a million keys',
    write: (path) =>
      trainerState(
        path,
        members(1_000_000, ['{"global_step":5,', '}'], (i) => `"${i}":0`),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'seven hundred thousand objects with keys of their own',
    write: (path) =>
      trainerState(
        path,
        members(740_000, ['{"global_step":5,"log_history":[', ']}'], (i) => `{"k${i}":0}`),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'objects with two keys of their own',
    write: (path) =>
      trainerState(
        path,
        members(490_000, ['{"global_step":5,"log_history":[', ']}'], (i) => `{"k${i}":0,"l${i}":1}`),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'lists in lists',
    write: (path) =>
      trainerState(
        path,
        members(700_000, ['{"global_step":5,"log_history":[', ']}'], () => '[[]]'),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'thirty megabytes of text outside Latin',
    write: (path) => trainerState(path, `{"global_step":5,"x":"${'\u3042'.repeat(10 * MIB)}"}`),
    exit: 1,
    codes: [],
  },
  {
    name: 'numbers with fractions',
    write: (path) =>
      trainerState(
        path,
        members(1_400_000, ['{"global_step":5,"x":[', ']}'], (i) => `${i}.5`),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'nesting ten thousand deep',
    write: (path) => trainerState(path, `{"global_step":5,"x":${'['.repeat(10_000)}`),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'keys that every object has',
    write: (path) => trainerState(path, '{"__proto__":{"global_step":7},"constructor":1,"toString":2}'),
    exit: 1,
    codes: ['DOCUMENT_INVALID'],
  },
  {
    name: 'an index that names six hundred thousand files',
    write: (path) =>
      folder(path, { 'model.safetensors.index.json': members(600_000, ['{"weight_map":{', '}}'], (i) => `"t${i}":"f${i}"`) }),
    exit: 1,
    codes: [],
  },
  {
    name: 'a long index beside long headers',
    write(path) {
      const name = (index: number) => `"${String(index).padEnd(60, 'x')}"`;
      const header = safetensors(members(150_000, ['{', '}'], (i) => `${name(i)}:${TENSOR}`));
      folder(path, {
        'm-00001-of-00002.safetensors': header,
        'm-00002-of-00002.safetensors': header,
        'm.safetensors.index.json': members(
          195_000,
          ['{"weight_map":{', '}}'],
          (i) => `${name(i)}:"m-0000${1 + (i % 2)}-of-00002.safetensors"`,
        ),
      });
    },
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'an index that names files elsewhere',
    write: (path) =>
      folder(path, {
        'model.safetensors.index.json': '{"weight_map":{"a":"../../../../etc/passwd","b":"/etc/passwd","c":"..","d":"\\u001b[2J"}}',
      }),
    exit: 1,
    codes: ['SHARD_INDEX_NAME'],
  },
  {
    name: 'four indexes of a quarter of a million tensors',
    write: (path) =>
      folder(
        path,
        Object.fromEntries(
          Array.from({ length: 4 }, (_, n) => [
            `m${n}.safetensors.index.json`,
            members(250_000, ['{"weight_map":{', '}}'], (i) => `"t${i}":"f"`),
          ]),
        ),
      ),
    exit: 1,
    codes: [],
  },
  {
    name: 'a Keras configuration that talks to the terminal',
    write: (path) =>
      writeFileSync(
        path,
        writeZip([
          { name: 'metadata.json', data: Buffer.from('\u001b[2J{') },
          { name: 'config.json', data: Buffer.from('{\u009b31m') },
          { name: 'model.weights.h5', data: Buffer.from('x') },
        ]),
      ),
    exit: 1,
    codes: ['DOCUMENT_INVALID'],
  },
  {
    name: 'a tree of arrays a million wide',
    write: (path) =>
      folder(path, {
        _CHECKPOINT_METADATA: '{}',
        _METADATA: members(
          250_000,
          ['{"use_ocdbt":true,"tree_metadata":{', '}}'],
          (i) => `"${i}":{"key_metadata":[{"key":"${i}"}],"value_metadata":{"value_type":"jax.Array"}}`,
        ),
      }),
    exit: 1,
    codes: [],
  },
  {
    name: 'a tree of arrays ten thousand deep',
    write: (path) => folder(path, { _CHECKPOINT_METADATA: '{}', _METADATA: `{"tree_metadata":${'{"a":'.repeat(10_000)}` }),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
];

export const MANIFEST_ATTACKS: readonly Attack[] = [
  {
    name: 'anchors that multiply',
    write: (path) => folder(path, { '.snapshot_metadata': `a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nmanifest: *c\n` }),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'YAML ten thousand deep',
    write: (path) =>
      folder(path, { '.snapshot_metadata': Array.from({ length: 10_000 }, (_, i) => `${' '.repeat(i % 3000)}a:`).join('\n') }),
    exit: 1,
    codes: [],
  },
  {
    name: 'YAML of seven hundred thousand lines',
    write: (path) =>
      folder(path, { '.snapshot_metadata': `manifest:\n${Array.from({ length: 740_000 }, (_, i) => `  k${i}: ${i}`).join('\n')}` }),
    exit: 1,
    codes: [],
  },
  {
    name: 'YAML items in items',
    write: (path) => folder(path, { '.snapshot_metadata': `${'- '.repeat(5 * MIB)}x` }),
    exit: 1,
    codes: ['LIMIT_EXCEEDED'],
  },
  {
    name: 'YAML of thirty million empty lines',
    write: (path) => folder(path, { '.snapshot_metadata': 'a\n'.padEnd(30 * MIB, '\n') }),
    exit: 1,
    codes: [],
  },
  {
    name: 'a location of ten million folders',
    write: (path) =>
      folder(path, {
        '.snapshot_metadata': `{"manifest":{"0/a":{"type":"object","serializer":"torch_save","location":"${'a/'.repeat(10 * MIB)}x"}}}`,
      }),
    exit: 1,
    codes: ['TORCHSNAPSHOT_LOCATION'],
  },
  {
    name: 'a path of ten million parts',
    write: (path) =>
      folder(path, { '.snapshot_metadata': `{"manifest":{"0/${'a/'.repeat(10 * MIB)}step":{"type":"int","serialized_value":"5"}}}` }),
    exit: 1,
    codes: [],
  },
  {
    name: 'locations outside the snapshot',
    write: (path) =>
      folder(path, {
        '.snapshot_metadata': '{"manifest":{"0/a":{"type":"object","serializer":"torch_save","location":"../../etc/passwd"}}}',
      }),
    exit: 1,
    codes: ['TORCHSNAPSHOT_LOCATION'],
  },
  {
    name: 'two hundred thousand parts',
    write: (path) =>
      folder(path, {
        '.snapshot_metadata': members(
          200_000,
          ['{"manifest":{', '}}'],
          (i) => `"${i}/a":{"type":"Tensor","location":"${i}/a","serializer":"buffer_protocol","dtype":"torch.float32","shape":[1]}`,
        ).slice(0, 31 * MIB),
      }),
    exit: 1,
    codes: [],
  },
];
