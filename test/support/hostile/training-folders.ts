import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OP } from '../../../src/formats/encodings/pickle/opcodes.ts';
import type { Attack } from './attack.ts';
import { bytes, dict, get, integer, list, many, object, pickle, put, repeat, text, tuple } from './pickle-bytes.ts';
import { torchFile } from './torch-files.ts';

const METADATA = 'torch.distributed.checkpoint.metadata';
const STORAGE = 'torch.distributed.checkpoint.filesystem';

/** A `.metadata` of DCP around two dictionaries. */
function metadata(items: Buffer, storage: Buffer): Buffer {
  return pickle(object(METADATA, 'Metadata', dict([text('state_dict_metadata'), items], [text('storage_data'), storage])));
}

function rows(count: number, row: (index: number) => Buffer): Buffer {
  return Buffer.concat([bytes(OP.EMPTY_DICT, OP.MARK), many(count, row), bytes(OP.SETITEMS)]);
}

function index(name: Buffer): Buffer {
  return object(METADATA, 'MetadataIndex', dict([text('fqn'), name], [text('offset'), bytes(OP.NONE)]));
}

function info(file: Buffer, offset: number, length: number): Buffer {
  return object(
    STORAGE,
    '_StorageInfo',
    dict([text('relative_path'), file], [text('offset'), integer(offset)], [text('length'), integer(length)]),
  );
}

function dcp(path: string, content: Buffer, shard: Buffer): void {
  mkdirSync(path);
  writeFileSync(join(path, '.metadata'), content);
  writeFileSync(join(path, '__0_0.distcp'), shard);
}

const SMALL = torchFile(pickle(bytes(OP.NONE)));

/** A torch file with many records, none of them large. */
function wide(records: number): Buffer {
  return torchFile(
    pickle(bytes(OP.NONE)),
    Array.from({ length: records }, (_, i) => ({ name: `archive/data/${i}`, data: bytes(1) })),
  );
}

function attack(name: string, write: (path: string) => void, ...codes: readonly string[]): Attack {
  return { name, write, exit: 1, codes };
}

export const TRAINING_ATTACKS: readonly Attack[] = [
  attack(
    'twenty thousand items in one place',
    (path) =>
      dcp(
        path,
        metadata(
          rows(1, () => Buffer.concat([text('a'), bytes(OP.NONE)])),
          rows(20_000, (i) => Buffer.concat([index(text(`n${i}`)), info(text('__0_0.distcp'), 0, SMALL.length)])),
        ),
        SMALL,
      ),
    'DCP_SHARD_OVERLAP',
  ),
  attack('a name of sixty kilobytes in thirty thousand places', (path) =>
    dcp(
      path,
      Buffer.concat([
        pickle(
          Buffer.concat([text('n'.repeat(60_000)), put(9), bytes(OP.POP)]),
          object(
            METADATA,
            'Metadata',
            dict(
              [text('state_dict_metadata'), dict()],
              [text('storage_data'), rows(30_000, (i) => Buffer.concat([index(get(9)), info(text('__0_0.distcp'), i, 1)]))],
            ),
          ),
        ),
      ]),
      SMALL,
    ),
  ),
  attack(
    'shards named elsewhere',
    (path) =>
      dcp(
        path,
        metadata(
          dict(),
          rows(3, (i) => Buffer.concat([index(text(`n${i}`)), info(text(['../../etc/passwd', '/etc/passwd', '..'][i] ?? ''), 0, 10)])),
        ),
        SMALL,
      ),
    'DCP_PATH_OUTSIDE',
  ),
  attack('shapes of two hundred thousand dimensions, shared by thousands', (path) => {
    const shared = Buffer.concat([tuple(Buffer.alloc(400_000, bytes(OP.BININT1, 1))), put(3), bytes(OP.POP)]);
    const chunk = object(METADATA, 'ChunkStorageMetadata', dict([text('offsets'), get(3)], [text('sizes'), get(3)]));
    const tensor = object(METADATA, 'TensorStorageMetadata', dict([text('size'), get(3)], [text('chunks'), list(repeat(chunk, 1000))]));
    dcp(
      path,
      pickle(
        shared,
        object(
          METADATA,
          'Metadata',
          dict([text('state_dict_metadata'), rows(100, (i) => Buffer.concat([text(`t${i}`), tensor]))], [text('storage_data'), dict()]),
        ),
      ),
      SMALL,
    );
  }),
  attack('a million claims of storage', (path) => {
    const shared = Buffer.concat([index(text('a')), put(1), bytes(OP.POP), info(text('__0_0.distcp'), 0, 10), put(2), bytes(OP.POP)]);
    dcp(
      path,
      pickle(
        shared,
        object(
          METADATA,
          'Metadata',
          dict(
            [text('state_dict_metadata'), dict()],
            [
              text('storage_data'),
              Buffer.concat([
                bytes(OP.EMPTY_DICT, OP.MARK),
                Buffer.alloc(8_000_000, bytes(OP.BINGET, 1, OP.BINGET, 2)),
                bytes(OP.SETITEMS),
              ]),
            ],
          ),
        ),
      ),
      SMALL,
    );
  }),
  attack('forty names for one file of forty thousand records', (path) => {
    mkdirSync(path);
    writeFileSync(join(path, 'trainer_state.json'), '{"global_step": 5}');
    writeFileSync(join(path, 'optimizer.pt'), wide(40_000));
    for (let i = 0; i < 40; i++) symlinkSync('optimizer.pt', join(path, `rng_state_${i}.pth`));
  }),
  attack('three thousand names for one pickle of a million opcodes', (path) => {
    mkdirSync(path);
    writeFileSync(join(path, 'trainer_state.json'), '{"global_step": 5}');
    writeFileSync(join(path, 'optimizer.pt'), torchFile(pickle(Buffer.alloc(2_000_000, bytes(OP.NONE, OP.POP)), bytes(OP.NONE))));
    for (let i = 0; i < 3000; i++) linkSync(join(path, 'optimizer.pt'), join(path, `rng_state_${i}.pth`));
  }),
  attack('one dictionary of parameters in a hundred thousand places', (path) => {
    mkdirSync(path);
    const shared = Buffer.concat([rows(50_000, (i) => Buffer.concat([text(`${i}.w`), bytes(OP.NONE)])), put(4), bytes(OP.POP)]);
    writeFileSync(
      join(path, 'mp_rank_00_model_states.pt'),
      torchFile(pickle(shared, dict([text('param_shapes'), list(repeat(get(4), 100_000))], [text('module'), bytes(OP.NONE)]))),
    );
    mkdirSync(join(path, 'zero'));
  }),
  attack('a timestamp of half a million counters', (path) => {
    mkdirSync(path);
    writeFileSync(
      join(path, 'ep1-ba5-rank0.pt'),
      torchFile(
        pickle(
          dict(
            [text('state'), dict([text('timestamp'), rows(300_000, (i) => Buffer.concat([text(`k${i}`), bytes(OP.EMPTY_DICT)]))])],
            [text('rng'), Buffer.concat([bytes(OP.EMPTY_LIST, OP.MARK), Buffer.alloc(1_500_000, OP.NONE), bytes(OP.APPENDS)])],
          ),
        ),
      ),
    );
  }),
];
